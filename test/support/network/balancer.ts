import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { fetch } from '../app/checked-fetch.ts'
import { freePort, identity } from '../postgres/postgres-server.ts'
import { tempFolder } from '../temp-folder.ts'
import { until } from '../until.ts'

export const nginxInstalled = spawnSync('nginx', ['-v']).status === 0

export interface Balancer {
  readonly url: string
  stop(): Promise<void>
}

const source = readFileSync(new URL('../../../deploy/nginx.conf', import.meta.url), 'utf8')

/** Replaces the addresses and paths that exist only in a container. */
function localConfiguration(folder: string, port: number, replicas: readonly number[]): string {
  const [shipped = '', options = ''] = /server replica:3000 resolve (.*);/.exec(source) ?? []
  const servers = replicas.map((replica) => `server 127.0.0.1:${replica} ${options};`)
  const changed = source
    .replace(shipped, servers.join('\n'))
    .replace(/resolver .*;/, '')
    .replace('listen 8080;', `listen 127.0.0.1:${port};`)
    .replaceAll('/tmp/', `${folder}/`)
    .replace('/dev/stderr', `${folder}/error.log`)
  expect(changed).not.toMatch(/replica:|8080|127\.0\.0\.11/)
  return changed
}

/** Starts nginx with the shipped configuration in front of replicas at these ports; resolves when it answers. */
export async function startBalancer(replicas: readonly number[]): Promise<Balancer> {
  const folder = tempFolder()
  const port = await freePort()
  const file = join(folder, 'nginx.conf')
  writeFileSync(file, localConfiguration(folder, port, replicas))
  if ('uid' in identity) chownSync(folder, identity.uid as number, identity.gid as number)
  const child = spawn('nginx', ['-p', folder, '-c', file, '-g', 'daemon off;'], { ...identity, stdio: 'ignore' })
  const ended = once(child, 'exit')
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM')
    await ended
  }
  const url = `http://127.0.0.1:${port}`
  try {
    await until('nginx answers', async () => (await fetch(url).catch(() => undefined)) !== undefined)
    return { url, stop }
  } catch {
    await stop()
    throw new Error(`nginx does not answer: ${readFileSync(join(folder, 'error.log'), 'utf8')}`)
  }
}
