import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { atTheEnd } from '../at-the-end.ts'
import { tempFolder } from '../temp-folder.ts'
import { freePort, identity, untilItAnswers } from './postgres-server.ts'

/** Its version, or undefined where none is installed. */
export const pgbouncer = /PgBouncer (\S+)/.exec(spawnSync('pgbouncer', ['--version'], { encoding: 'utf8' }).stdout)?.[1]

/** Ends it with this process: nothing removes one at the end of a file whose tests could not be listed. */
const GUARD = process.platform === 'linux' ? ['setpriv', '--pdeathsig', 'KILL'] : []

/**
 * Starts a PgBouncer before a server until the end of the test or the file, and resolves to its URL. It has so few connections that each
 * client gets another one each time.
 */
export async function startPgbouncer(serverUrl: string, poolMode = 'transaction', poolSize = 3): Promise<string> {
  const { hostname, port: serverPort, username, password, pathname } = new URL(serverUrl)
  const folder = tempFolder()
  const port = await freePort()
  const lines = [
    '[databases]',
    `* = host=${hostname} port=${serverPort} user=${username}${password && ` password=${password}`}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = any',
    `pool_mode = ${poolMode}`,
    `default_pool_size = ${poolSize}`,
    'server_round_robin = 1',
  ]
  const settings = join(folder, 'pgbouncer.ini')
  writeFileSync(settings, `${lines.join('\n')}\n`)
  if ('uid' in identity)
    for (const path of [folder, settings]) chownSync(path, identity.uid as number, identity.gid as number)
  const [program = '', ...args] = [...GUARD, 'pgbouncer', '-q', settings]
  const child: ChildProcess = spawn(program, args, { ...identity, stdio: 'ignore' })
  const ended = once(child, 'exit')
  atTheEnd(async () => {
    child.kill('SIGKILL')
    await ended
  })
  const url = `postgres://teslim@127.0.0.1:${port}${pathname}`
  await untilItAnswers(url, child)
  return url
}
