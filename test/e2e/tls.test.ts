import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync } from 'node:fs'
import { Agent, get } from 'node:https'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type ConnectionOptions, type TLSSocket, connect as tlsConnect } from 'node:tls'
import { beforeEach, describe, expect, it } from 'vitest'
import { makeCertificate, storeCertificate, type Wanted } from '../support/certificate.ts'
import { fetch } from '../support/checked-fetch.ts'
import { serve, teslim } from '../support/process.ts'
import { tempFolder } from '../support/temp-folder.ts'

const root = tempFolder()
let cwd = ''
let counter = 0
beforeEach(() => {
  cwd = join(root, String(++counter))
  mkdirSync(cwd)
})

const start = async (wanted: Wanted = {}, env: Record<string, string> = {}) => {
  const files = storeCertificate(cwd, makeCertificate(wanted))
  return serve({ cwd, env: { NODE_ENV: 'production', ...files, ...env } })
}

const portOf = (url: string): number => Number(new URL(url).port)

async function handshake(url: string, more: ConnectionOptions = {}): Promise<TLSSocket> {
  const socket = tlsConnect({ port: portOf(url), host: '127.0.0.1', rejectUnauthorized: false, ...more })
  await once(socket, 'secureConnect')
  return socket
}

/** The serial number of the certificate that a new connection is shown. */
async function serialOf(url: string): Promise<string> {
  const socket = await handshake(url)
  const { serialNumber } = socket.getPeerCertificate()
  socket.destroy()
  return serialNumber
}

describe('with a certificate', () => {
  it('the API speaks HTTPS, TLS 1.2 and 1.3 with forward secrecy, HTTP/1.1 only, and nothing older', async () => {
    const made = makeCertificate()
    const server = await serve({ cwd, env: { NODE_ENV: 'production', ...storeCertificate(cwd, made) } })
    expect(server.url).toMatch(/^https:/)
    for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
      const socket = await handshake(server.url, {
        ca: made.certificate,
        rejectUnauthorized: true,
        servername: 'localhost',
        maxVersion: version,
        ALPNProtocols: ['h2', 'http/1.1'],
      })
      expect([socket.getProtocol(), socket.alpnProtocol]).toEqual([version, 'http/1.1'])
      socket.end('GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
      expect(await text(socket)).toMatch(/^HTTP\/1\.1 200 OK.*"Status":"ok"/s)
    }
    const refused: ConnectionOptions[] = [
      { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'ALL@SECLEVEL=0' },
      { maxVersion: 'TLSv1.2', ciphers: 'AES128-SHA:AES128-GCM-SHA256' },
      { maxVersion: 'TLSv1.2', ciphers: 'NULL:eNULL@SECLEVEL=0' },
    ]
    for (const options of refused) await expect(handshake(server.url, options)).rejects.toThrow()
    expect((await handshake(server.url)).destroy().destroyed).toBe(true)
  })

  it('the first run prints curl commands that work as pasted, whatever name the certificate has and whoever issued it', async () => {
    const issuer = makeCertificate({ commonName: 'our own authority' })
    const wanted: Wanted[] = [
      {},
      { names: ['api.example.com'], addresses: [], issuer },
      { names: ['*.example.com'], addresses: [] },
      { names: [], addresses: ['10.1.2.3'] },
    ]
    for (const [index, each] of wanted.entries()) {
      const database = { DATABASE_URL: `sqlite:./${index}.db`, NODE_ENV: 'development' }
      const server = await start(each, database)
      await server.printed(/curl .*\/Purchase\/update.*\n/)
      const commands = server.output().match(/curl .+/g) ?? []
      const answers = commands.map(async (command) => JSON.parse(await text(spawn('sh', ['-c', command]).stdout)))
      expect(await Promise.all(answers)).toMatchObject([{ success: true }, { success: true }])
      server.child.kill('SIGTERM')
      expect(await server.ended).toBe(0)
    }
  })

  it('plain HTTP, junk and a broken handshake are logged, and the server goes on', async () => {
    const server = await start()
    for (const bytes of ['GET /livez HTTP/1.1\r\nHost: a\r\n\r\n', '\x16\x03\x01\x00\x05junk!', '\0\0\0\0\0\0\0']) {
      const socket = connect(portOf(server.url), '127.0.0.1')
      const closed = new Promise((resolve) => socket.on('error', () => undefined).on('close', resolve))
      socket.resume().write(bytes)
      await closed
    }
    await server.printed(/"level":30,[^\n]*ERR_SSL_HTTP_REQUEST[^\n]*broken TLS handshake/)
    expect(await serialOf(server.url)).toBe('01')
  })

  it('the limits are those of plain HTTP', async () => {
    const server = await start({}, { TESLIM_REQUEST_TIMEOUT: '1' })
    const ask = async (bytes: string): Promise<string> => {
      const socket = await handshake(server.url)
      socket.write(bytes)
      return text(socket)
    }
    const long = `GET /livez HTTP/1.1\r\nHost: a\r\nX-A: ${'b'.repeat(17_000)}\r\n\r\n`
    const answers = [
      ask(long),
      ask('GET /livez HTTP/1.1\r\nHost: a\r\n'),
      ask('POST / HTTP/1.1\r\nHost: a\r\nContent-Length : 1\r\n\r\n'),
    ]
    expect((await Promise.all(answers)).map((answer) => answer.slice(0, 12))).toEqual([
      'HTTP/1.1 431',
      'HTTP/1.1 408',
      'HTTP/1.1 400',
    ])
  })

  it('SIGTERM lets a request that comes on a kept connection be answered, then ends the connection', async () => {
    const server = await start()
    const socket = await handshake(server.url)
    socket.write('GET /livez HTTP/1.1\r\nHost: a\r\n\r\n')
    const [first] = await once(socket, 'data')
    server.child.kill('SIGTERM')
    await server.printed(/stopping/)
    socket.write('GET /livez HTTP/1.1\r\nHost: a\r\n\r\n')
    const second = await text(socket)
    expect([String(first), second]).toEqual([
      expect.stringMatching(/^HTTP\/1\.1 200 [\s\S]*connection: keep-alive/i),
      expect.stringMatching(/^HTTP\/1\.1 200 [\s\S]*connection: close/i),
    ])
    expect(await server.ended).toBe(0)
  })

  it('SIGTERM ends a kept connection on which nothing comes, but not one with a request under way', async () => {
    const server = await start({}, { TESLIM_SHUTDOWN_SECONDS: '600' })
    const socket = await handshake(server.url)
    socket.write('GET /livez HTTP/1.1\r\nHost: a\r\n\r\n')
    await once(socket, 'data')
    const busy = await handshake(server.url)
    const head = ['Host: a', 'Content-Type: application/json', 'Content-Length: 2', 'Expect: 100-continue']
    busy.write(`POST /Login/Customer/Api/Verify HTTP/1.1\r\n${head.join('\r\n')}\r\n\r\n`)
    // The server says "100 Continue" once it works on the request.
    await once(busy, 'data')
    server.child.kill('SIGTERM')
    expect(await text(socket)).toBe('')
    busy.write('{}')
    expect(await text(busy)).toMatch(/^HTTP\/1\.1 400 /)
    expect(await server.ended).toBe(0)
  })

  it('SIGTERM ends it with 0 in the time given, even while a client does not go on with its handshake', async () => {
    const server = await start({}, { TESLIM_SHUTDOWN_SECONDS: '1' })
    const socket = connect(portOf(server.url), '127.0.0.1').on('error', () => undefined)
    await once(socket, 'connect')
    expect(await serialOf(server.url)).toBe('01')
    server.child.kill('SIGTERM')
    expect(await server.ended).toBe(0)
    socket.destroy()
  })
})

describe('SIGHUP', () => {
  it('brings a new certificate to new connections, and an old one goes on', async () => {
    const server = await start({ serial: 1 })
    await server.printed(/"serialNumber":"01","expires":"[^"]+"\},"msg":"this TLS certificate is in use"/)
    const agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false })
    const ask = () =>
      new Promise<{ status: number | undefined; port: number | undefined }>((resolve, reject) => {
        get(`${server.url}/livez`, { agent }, (answer) => {
          const { localPort: port } = answer.socket
          answer.resume().on('end', () => resolve({ status: answer.statusCode, port }))
        }).on('error', reject)
      })
    const before = await ask()
    storeCertificate(cwd, makeCertificate({ serial: 2 }))
    server.child.kill('SIGHUP')
    await server.printed(/"serialNumber":"02","expires":"[^"]+"\},"msg":"this TLS certificate is in use"/)
    expect(await serialOf(server.url)).toBe('02')
    expect([before, await ask()]).toEqual([
      { status: 200, port: before.port },
      { status: 200, port: before.port },
    ])
    agent.destroy()
  })

  it.each([
    ['is cut short', (_key: string, certificate: string) => ({ certificate: certificate.slice(0, 200) })],
    ['is empty', () => ({ certificate: '' })],
    ['came before its key', () => ({ certificate: makeCertificate({ serial: 2 }).certificate })],
    ['has no key any more', () => ({ key: '' })],
  ] as const)('keeps the certificate when the new one %s, and says so', async (_name, broken) => {
    const made = makeCertificate()
    const server = await serve({ cwd, env: { NODE_ENV: 'production', ...storeCertificate(cwd, made) } })
    storeCertificate(cwd, { ...made, ...broken(made.key, made.certificate) })
    server.child.kill('SIGHUP')
    await server.printed(/"level":50,[^\n]*TESLIM_TLS_[^\n]*; the certificate from before stays in use/)
    expect(await serialOf(server.url)).toBe('01')
    storeCertificate(cwd, makeCertificate({ serial: 3 }))
    server.child.kill('SIGHUP')
    await server.printed(/"serialNumber":"03"/)
    expect(await serialOf(server.url)).toBe('03')
  })

  it('keeps the certificate when the new one is worse: expired, not yet valid, or not for a name of the current one', async () => {
    const names = ['api.example.com', '*.example.org']
    const server = await start({ names })
    const day = 86_400_000
    const worse: [Wanted, RegExp][] = [
      [{ names, from: 0, until: Date.now() - 1000 }, /the certificate expired on \d{4}/],
      [{ names, from: Date.now() + day }, /the certificate is not valid before \d{4}/],
      [
        { names: ['api.example.com'], addresses: [] },
        /the certificate is not for \*\.example\.org, 127\.0\.0\.1, as the one in use is/,
      ],
    ]
    for (const [wanted, why] of worse) {
      storeCertificate(cwd, makeCertificate({ serial: 2, ...wanted }))
      server.child.kill('SIGHUP')
      await server.printed(
        new RegExp(`"level":50,[^\\n]*${why.source}[^\\n]*; the certificate from before stays in use`),
      )
      expect(await serialOf(server.url)).toBe('01')
    }
    const soon = Date.now() + day
    storeCertificate(cwd, makeCertificate({ serial: 3, names: ['*.example.com', ...names.slice(1)], until: soon }))
    server.child.kill('SIGHUP')
    await server.printed(/"level":40,[^\n]*expires before the certificate that was in use/)
    await server.printed(/"serialNumber":"03"/)
    expect(await serialOf(server.url)).toBe('03')
  })

  it('does no harm without a certificate', async () => {
    const server = await serve({ cwd, env: { NODE_ENV: 'production' } })
    server.child.kill('SIGHUP')
    await server.printed(/SIGHUP: there is no certificate to read again/)
    expect((await fetch(`${server.url}/livez`)).status).toBe(200)
  })

  it('of a terminal that goes away ends the server in order', async () => {
    const command = `exec '${process.execPath}' '${join(import.meta.dirname, '../../bin/teslim.js')}' serve`
    const env = { PATH: process.env.PATH ?? '', PORT: '0', NODE_ENV: 'production' }
    const terminal = spawn('script', ['-qc', `echo "pid $$"; ${command}`, '/dev/null'], { cwd, env })
    const spawned = await Promise.race([once(terminal, 'spawn'), once(terminal, 'error')]).then(([error]) => !error)
    if (!spawned) return console.warn('skipped: there is no command "script" to make a terminal with')
    let printed = ''
    terminal.stdout.setEncoding('utf8')
    for await (const chunk of terminal.stdout) {
      printed += chunk
      if (printed.includes('no customer yet')) break
    }
    const pid = Number(/pid (\d+)/.exec(printed)?.[1])
    terminal.kill('SIGKILL')
    const runs = (): boolean => {
      try {
        return process.kill(pid, 0)
      } catch {
        return false
      }
    }
    await expect.poll(runs, { timeout: 5000 }).toBe(false)
  })
})

describe('what is wrong with the files is one clear line at the start', () => {
  const startLine = async (files: Record<string, string>) => {
    const { status, stderr } = await teslim(['serve'], { cwd, env: { NODE_ENV: 'production', PORT: '0', ...files } })
    expect([status, stderr.trimEnd().split('\n')]).toEqual([2, [expect.any(String)]])
    return stderr.trimEnd()
  }

  it('one without the other', async () => {
    const files = storeCertificate(cwd, makeCertificate())
    expect(await startLine({ TESLIM_TLS_CERT: files.TESLIM_TLS_CERT })).toBe(
      'teslim: TESLIM_TLS_KEY: leaving it out is not allowed, it must be set where TESLIM_TLS_CERT is',
    )
    expect(await startLine({ TESLIM_TLS_KEY: files.TESLIM_TLS_KEY })).toBe(
      'teslim: TESLIM_TLS_CERT: leaving it out is not allowed, it must be set where TESLIM_TLS_KEY is',
    )
  })

  it('a key of another certificate', async () => {
    const made = makeCertificate({ commonName: 'ours' })
    const files = storeCertificate(cwd, { ...made, key: makeCertificate().key })
    expect(await startLine(files)).toBe(
      `teslim serve: TESLIM_TLS_KEY ${files.TESLIM_TLS_KEY} is not the key of the first certificate in TESLIM_TLS_CERT ${files.TESLIM_TLS_CERT}, which is CN=ours`,
    )
  })

  it.each([
    ['no such file', { certificate: null }, /TESLIM_TLS_CERT \S+ cannot be read: ENOENT$/],
    ['a folder', { key: null }, /TESLIM_TLS_KEY \S+ cannot be read: it is not a plain file$/],
    ['no PEM', { certificate: 'hello' }, /TESLIM_TLS_CERT \S+ holds no certificate in PEM$/],
    ['a key where the certificate belongs', { certificate: makeCertificate().key }, /holds no certificate in PEM$/],
    ['no key', { key: makeCertificate().certificate }, /TESLIM_TLS_KEY \S+ holds no private key in PEM$/],
    [
      'an encrypted key',
      {
        key: makeCertificate().privateKey.export({
          type: 'pkcs8',
          format: 'pem',
          cipher: 'aes-256-cbc',
          passphrase: 'x',
        }) as string,
      },
      /is encrypted, and teslim knows no passphrase: store it without one$/,
    ],
  ])('%s', async (_name, { certificate, key }: { certificate?: string | null; key?: string | null }, line) => {
    const made = makeCertificate()
    const files = storeCertificate(cwd, { ...made, ...(certificate && { certificate }), ...(key && { key }) })
    if (certificate === null) files.TESLIM_TLS_CERT = join(cwd, 'none.pem')
    if (key === null) files.TESLIM_TLS_KEY = cwd
    expect(await startLine(files)).toMatch(line)
  })

  it('an expired certificate and a key that everybody can read are no errors, but are warned about', async () => {
    const files = storeCertificate(cwd, makeCertificate({ until: Date.parse('2026-01-02T03:04:05Z'), from: 0 }))
    chmodSync(files.TESLIM_TLS_KEY, 0o644)
    const server = await serve({ cwd, env: { NODE_ENV: 'production', ...files } })
    await server.printed(/"level":40,[^\n]*the certificate expired on 2026-01-02/)
    await server.printed(/"level":40,[^\n]*every user of this machine can read TESLIM_TLS_KEY/)
  })
})
