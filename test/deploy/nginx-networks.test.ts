import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { exchange } from '../support/app/raw-http.ts'
import { atTheEnd } from '../support/at-the-end.ts'
import { nginxInstalled } from '../support/network/balancer.ts'
import { freePort, identity } from '../support/postgres/postgres-server.ts'
import { randomBelow } from '../support/random.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { until } from '../support/until.ts'

if (!nginxInstalled) console.info('how the nginx files count clients is not tested: nginx is not installed')

/** What a shipped file counts clients by. */
const counting = (file: string): string => {
  const source = readFileSync(new URL(`../../deploy/${file}`, import.meta.url), 'utf8')
  return /^ *map \$remote_addr [\s\S]*?^ *limit_conn_zone \$teslim_site [^\n]*/m.exec(source)?.[0] ?? ''
}

/** An nginx that answers with what it counts a client by. X-Real-IP stands for the address of the connection, and is spelled by nginx anew. */
async function startCounting(maps: string) {
  const folder = tempFolder()
  const port = await freePort()
  const file = join(folder, 'nginx.conf')
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/a;`)
  writeFileSync(
    file,
    `pid ${folder}/nginx.pid;
error_log ${folder}/error.log;
events { worker_connections 64; }
http {
  access_log off;
  keepalive_requests 100000;
  ${temporary.join('\n  ')}
  ${maps}
  server {
    listen 127.0.0.1:${port};
    set_real_ip_from 127.0.0.1;
    location / { return 200 "[$remote_addr|$teslim_network|$teslim_site]"; }
  }
}
`,
  )
  if ('uid' in identity) chownSync(folder, identity.uid as number, identity.gid as number)
  const child = spawn('nginx', ['-p', folder, '-e', join(folder, 'error.log'), '-c', file, '-g', 'daemon off;'], {
    ...identity,
    stdio: 'ignore',
  })
  const ended = once(child, 'exit')
  atTheEnd(async () => {
    child.kill('SIGTERM')
    await ended
  })
  /** For each address what nginx spells it as, the key of its client, and that of its /48. */
  const keysOf = async (addresses: readonly string[]): Promise<string[][]> => {
    const asked = addresses.map((address, index) => {
      const end = index === addresses.length - 1 ? 'Connection: close\r\n' : ''
      return `GET / HTTP/1.1\r\nHost: a\r\nX-Real-IP: ${address}\r\n${end}\r\n`
    })
    const answers = await exchange(`http://127.0.0.1:${port}`, asked.join(''))
    return Array.from(answers.matchAll(/\[([^|\]]*)\|([^|\]]*)\|([^|\]]*)\]/g), ([, ...keys]) => keys)
  }
  await until('nginx answers', () =>
    keysOf(['192.0.2.1']).then(
      (keys) => keys.length === 1,
      () => false,
    ),
  )
  return keysOf
}

const hex = (groups: readonly number[]): string => groups.map((group) => `${group.toString(16)}:`).join('')
const FIRST = 0x2001

describe.runIf(nginxInstalled).each(['nginx-tls.conf', 'nginx.conf'])('%s', (file) => {
  it('counts all addresses of one /64 as one client and of one /48 as another one, and nobody else with them', async () => {
    const keysOf = await startCounting(counting(file))
    // Zeros in each combination of groups: nginx leaves out the longest run of them, wherever it is.
    const all = Array.from({ length: 4 * 128 }, (_, mask) => [
      FIRST,
      ...Array.from({ length: 7 }, (_each, bit) =>
        (mask >> bit) % 2 === 0 ? 0 : 1 + randomBelow(mask < 128 ? 2 : 0xffff),
      ),
    ])
    const keys = await keysOf(all.map((groups) => hex(groups).slice(0, -1)))
    expect(keys.map(([, network, site]) => [network, site])).toEqual(
      all.map((groups) => [hex(groups.slice(0, 4)), hex(groups.slice(0, 3))]),
    )
    // Else only one form would have been tried.
    expect(
      new Set(
        keys.map(([spelled = '']) =>
          spelled
            .split(':')
            .map((group) => group === '')
            .join(),
        ),
      ).size,
    ).toBeGreaterThan(10)
  })

  it('counts an IPv4 address by itself, however it comes, and what is nobody on the Internet together', async () => {
    const keysOf = await startCounting(counting(file))
    expect(
      await keysOf(['203.0.113.7', '::ffff:203.0.113.7', '::1', '::203.0.113.7', '0:1:2:3:4:5:6:7', '::5:6:7:8:9']),
    ).toEqual([
      ['203.0.113.7', '203.0.113.7', ''],
      ['::ffff:203.0.113.7', '203.0.113.7', ''],
      ['::1', '0:', ''],
      ['::203.0.113.7', '0:', ''],
      ['0:1:2:3:4:5:6:7', '0:', ''],
      ['::5:6:7:8:9', '0:', ''],
    ])
  })
})
