import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { globSync } from 'node:fs'
import { createServer } from 'node:net'
import { until } from '../until.ts'

/** Where Debian's packages have the newest PostgreSQL. */
export const binaries = globSync('/usr/lib/postgresql/*/bin/pg_rewind').toSorted().at(-1)
const printed = (program: string, option: string): string =>
  spawnSync(program, [option], { encoding: 'utf8' }).stdout ?? ''

/** 0 where there is none. */
export const patroniMajor = Number(/^patroni\S* (\d+)/.exec(printed('patroni', '--version'))?.[1] ?? 0)

/** Why there can be no cluster here; undefined if there can. */
export function whyNoCluster(): string | undefined {
  if (process.platform !== 'linux') return 'processes are found in /proc'
  const missing = [
    ...(patroniMajor > 0 ? [] : ['patroni']),
    ...(printed('etcd', '--version') ? [] : ['etcd']),
    ...(printed('haproxy', '-v') ? [] : ['haproxy']),
    ...(binaries ? [] : ['/usr/lib/postgresql/*/bin/pg_rewind']),
  ]
  return missing.length === 0 ? undefined : `not installed: ${missing.join(', ')}`
}

/**
 * Ends everything that works in a folder once its input ends, as it does when the process at the other end is gone, however that went.
 * PostgreSQL has left the process group of Patroni, and removes its shared memory on SIGQUIT only.
 */
const GUARD = `cat
processes() { find /proc -mindepth 2 -maxdepth 2 -name cwd -lname "$1" -printf '%h\\n' 2> /dev/null | cut -d / -f 3; }
kill -CONT $(processes "$1/*"); kill -QUIT $(processes "$1/node?/data")
for wait in 1 2 3 4 5 6 7 8 9 10; do [ -z "$(processes "$1/node?/data")" ] || sleep 0.2; done
while kill -KILL $(processes "$1/*"); do sleep 0.1; done
rm -rf "$1"`

/** Returns what ends the processes in a folder, and removes it. */
export function guardFolder(folder: string): () => Promise<void> {
  const guard = spawn('sh', ['-c', GUARD, 'guard', folder], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  const ended = once(guard, 'exit')
  return async () => {
    guard.stdin.end()
    await ended
  }
}

let next = 10_000 + ((process.pid * 64) % 20_000)

/**
 * A port below those that the system gives to clients. Of theirs, one could be taken in the seconds before its program listens, and
 * each time that program is started again.
 */
export async function serverPort(): Promise<number> {
  for (;;) {
    const port = next++
    const probe = createServer().listen(port, '127.0.0.1')
    const isFree = await once(probe, 'listening').then(
      () => true,
      () => false,
    )
    if (!isFree) continue
    probe.close()
    await once(probe, 'close')
    return port
  }
}

/** Those that work in a folder or below it. */
export function processesIn(folder: string): number[] {
  const { stdout } = spawnSync(
    'find',
    ['/proc', '-mindepth', '2', '-maxdepth', '2', '-name', 'cwd', '-lname', `${folder}*`],
    { encoding: 'utf8' },
  )
  return Array.from(stdout.matchAll(/^\/proc\/(\d+)\/cwd$/gm), ([, id]) => Number(id))
}

/** Until there are no more that have not got it: PostgreSQL and Patroni start others. */
export async function signalAll(folder: string, name: 'SIGKILL' | 'SIGSTOP'): Promise<void> {
  const told = new Set<number>()
  await until(`all processes in ${folder} got ${name}`, () => {
    const others = processesIn(folder).filter((id) => !told.has(id))
    for (const id of others) {
      told.add(id)
      try {
        process.kill(id, name)
      } catch {
        // It has ended.
      }
    }
    return others.length === 0
  })
}
