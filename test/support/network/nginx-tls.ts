import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { atTheEnd } from '../at-the-end.ts'
import { freePort, identity } from '../postgres/postgres-server.ts'
import { tempFolder } from '../temp-folder.ts'
import { makeCertificate } from './certificate.ts'
import type { PrivateNetwork } from './private-network.ts'

const shipped = readFileSync(new URL('../../../deploy/nginx-tls.conf', import.meta.url), 'utf8')
export const SUPPLIERS = 'orders.example.com'
export const OPERATORS = 'office.example.com'

/** With the lines for a second factor. */
const withSecondFactor = (configuration: string): string => {
  const [before = '', lines = '', after = ''] = configuration.split(
    /(?<=Remove the first # of each of these lines:\n)|(?= {2}# It guards this name only)/,
  )
  return before + lines.replaceAll(/^ {2}#/gm, '  ') + after
}

interface NginxOptions {
  /** The port of teslim. */
  readonly teslim: number
  /** That of the program for a second factor; its lines stay comments without one. */
  readonly secondFactor?: number
  /** Where all ports are free, so that it listens where the file says. Elsewhere it listens on loopback, at another port. */
  readonly network?: PrivateNetwork
  /** As many as Debian's nginx has, unless given. */
  readonly workerConnections?: number
}

/** Starts nginx as Debian does, with the file in its folder of configurations; only names of files, and ports, are others. */
export async function startNginxTls({ teslim, secondFactor, network, workerConnections = 768 }: NginxOptions) {
  const folder = tempFolder()
  const port = network ? 443 : await freePort()
  const made = makeCertificate({ names: [SUPPLIERS, OPERATORS] })
  writeFileSync(join(folder, 'teslim.crt'), made.certificate)
  writeFileSync(join(folder, 'teslim.key'), made.key)
  const chosen = secondFactor === undefined ? shipped : withSecondFactor(shipped)
  const elsewhere = chosen
    .replaceAll('listen 443 ssl;', `listen 127.0.0.1:${port} ssl;`)
    .replaceAll('listen [::]:443 ssl;', '')
  const changed = (network ? chosen : elsewhere)
    .replaceAll('/etc/ssl/private/', `${folder}/`)
    .replaceAll('/etc/ssl/', `${folder}/`)
    .replaceAll('server 127.0.0.1:3000;', `server 127.0.0.1:${teslim};`)
    .replaceAll('127.0.0.1:4180', `127.0.0.1:${secondFactor ?? 4180}`)
  writeFileSync(join(folder, 'teslim.conf'), changed)
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  )
  const file = join(folder, 'nginx.conf')
  writeFileSync(
    file,
    `${network ? 'user root;' : ''}
pid ${folder}/nginx.pid;
error_log ${folder}/error.log;
events { worker_connections ${workerConnections}; }
http {
  sendfile on;
  ssl_protocols TLSv1 TLSv1.1 TLSv1.2 TLSv1.3;
  access_log ${folder}/access.log;
  gzip on;
  ${temporary.join('\n  ')}
  include ${folder}/teslim.conf;
}
`,
  )
  // Who enters another network stays root.
  const owner = network ? {} : identity
  if ('uid' in owner) chownSync(folder, owner.uid as number, owner.gid as number)
  const options = ['-p', folder, '-e', join(folder, 'error.log'), '-c', file]
  const [command = '', ...before] = [...(network?.through ?? []), 'nginx']
  const judged = spawnSync(command, [...before, '-t', ...options], { ...owner, encoding: 'utf8' })
  const said = readFileSync(join(folder, 'error.log'), 'utf8') + judged.stderr
  const child = spawn(command, [...before, ...options, '-g', 'daemon off;'], { ...owner, stdio: 'ignore' })
  const ended = once(child, 'exit')
  atTheEnd(async () => {
    child.kill('SIGTERM')
    await ended
  })
  return { judged: { status: judged.status, said }, port, ca: made.certificate }
}
