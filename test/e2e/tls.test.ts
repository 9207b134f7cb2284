import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync } from 'node:fs'
import { Agent, get } from 'node:https'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type ConnectionOptions, type TLSSocket, connect as tlsConnect } from 'node:tls'
import { beforeEach, describe, expect, it } from 'vitest'
import { fetch } from '../support/app/checked-fetch.ts'
import { type Made, makeCertificate, storeCertificate, type Wanted } from '../support/network/certificate.ts'
import { runPrepared } from '../support/processes/prepared-commands.ts'
import { type ServerProcess, serve, shellCommand, teslim } from '../support/processes/process.ts'
import { tempFolder } from '../support/temp-folder.ts'

const production = { NODE_ENV: 'production' }
const root = tempFolder()
let cwd = ''
let counter = 0
beforeEach(() => {
  cwd = join(root, String(++counter))
  mkdirSync(cwd)
})

/** What the two commands answer that a first run prints. */
async function pasteCommands(server: ServerProcess): Promise<unknown[]> {
  await server.printed(/curl .*\/Purchase\/update.*\n/)
  const commands = server.output().match(/curl .+/g) ?? []
  return Promise.all(commands.map(async (command) => JSON.parse(await text(spawn('sh', ['-c', command]).stdout))))
}

const SUCCESSES = [{ success: true }, { success: true }]

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

/** Each certificate of the shared server has these, as one that lacks a name of the one in use is refused. */
const NAMES = ['localhost', 'api.example.com', '*.example.com', '*.example.org']
const folder = tempFolder()
let current = makeCertificate({ names: NAMES })
let serials = 1
const shared = await serve({ cwd: folder, env: storeCertificate(folder, current) })

/** Lets the shared server read these files, and waits for what it prints about them. */
async function reload(made: Made, line: RegExp): Promise<void> {
  const before = shared.output().length
  storeCertificate(folder, made)
  shared.child.kill('SIGHUP')
  await shared.printed(line, before)
}

/** Resolves to the serial number of a new certificate, once the shared server uses it. */
async function renew(wanted: Wanted = {}): Promise<string> {
  const serial = `0${(++serials).toString(16).toUpperCase()}`
  current = makeCertificate({ names: NAMES, serial: serials, ...wanted })
  await reload(
    current,
    new RegExp(`"serialNumber":"${serial}","expires":"[^"]+"},"msg":"this TLS certificate is in use"`),
  )
  return serial
}

describe('with a certificate', () => {
  const issuer = makeCertificate({ commonName: 'our own authority' })
  const made = makeCertificate({ names: ['api.example.com'], addresses: [], issuer })
  const env = { ...storeCertificate(tempFolder(), made), TESLIM_SHUTDOWN_SECONDS: '600' }

  it('the API speaks HTTPS, TLS 1.2 and 1.3 with forward secrecy, HTTP/1.1 only, and nothing older', async () => {
    expect(shared.url).toMatch(/^https:/)
    for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
      const socket = await handshake(shared.url, {
        ca: current.certificate,
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
    for (const options of refused) await expect(handshake(shared.url, options)).rejects.toThrow()
    expect((await handshake(shared.url)).destroy().destroyed).toBe(true)
  })

  it('the first run prints curl commands that work as pasted, whatever name the certificate has and whoever issued it', async () => {
    const wanted: Wanted[] = [
      { names: ['*.example.com'], addresses: [] },
      { names: [], addresses: ['10.1.2.3'] },
    ]
    const starts = wanted.map((each, index) => {
      const files = storeCertificate(tempFolder(), makeCertificate(each))
      return serve({ cwd, env: { ...files, DATABASE_URL: `sqlite:./${index}.db` } })
    })
    const issued = serve({ cwd: tempFolder(), env })
    for (const server of [shared, ...(await Promise.all([issued, ...starts]))])
      expect(await pasteCommands(server)).toMatchObject(SUCCESSES)
  })

  it('plain HTTP, junk and a broken handshake are logged, and the server goes on', async () => {
    const before = await serialOf(shared.url)
    for (const bytes of ['GET /livez HTTP/1.1\r\nHost: a\r\n\r\n', '\x16\x03\x01\x00\x05junk!', '\0\0\0\0\0\0\0']) {
      const socket = connect(portOf(shared.url), '127.0.0.1')
      const closed = new Promise((resolve) => socket.on('error', () => undefined).on('close', resolve))
      socket.resume().write(bytes)
      await closed
    }
    await shared.printed(/"level":30,[^\n]*ERR_SSL_HTTP_REQUEST[^\n]*broken TLS handshake/)
    expect(await serialOf(shared.url)).toBe(before)
  })

  it('SIGTERM lets a request be answered that is under way or comes on a kept connection, and ends connections on which nothing comes', async () => {
    const issued = await serve({ cwd, env })
    const live = 'GET /livez HTTP/1.1\r\nHost: a\r\n\r\n'
    const [kept, quiet, busy] = await Promise.all([handshake(issued.url), handshake(issued.url), handshake(issued.url)])
    const [first] = await Promise.all(
      [kept, quiet].map(async (socket) => {
        socket.write(live)
        return String(await once(socket, 'data'))
      }),
    )
    const head = ['Host: a', 'Content-Type: application/json', 'Content-Length: 2', 'Expect: 100-continue']
    busy.write(`POST /Login/Customer/Api/Verify HTTP/1.1\r\n${head.join('\r\n')}\r\n\r\n`)
    // The server says "100 Continue" once it works on the request.
    await once(busy, 'data')
    const nothing = text(quiet)
    issued.child.kill('SIGTERM')
    await issued.printed(/stopping/)
    kept.write(live)
    expect([first, await text(kept)]).toEqual([
      expect.stringMatching(/^HTTP\/1\.1 200 [\s\S]*connection: keep-alive/i),
      expect.stringMatching(/^HTTP\/1\.1 200 [\s\S]*connection: close/i),
    ])
    expect(await nothing).toBe('')
    busy.write('{}')
    expect(await text(busy)).toMatch(/^HTTP\/1\.1 400 /)
    expect(await issued.ended).toBe(0)
  })
})

describe('with a certificate that has expired and a key that everybody can read, and one second for requests and for the stop', async () => {
  const files = storeCertificate(root, makeCertificate({ until: Date.parse('2026-01-02T03:04:05Z'), from: 0 }))
  chmodSync(files.TESLIM_TLS_KEY, 0o644)
  const env = { ...production, ...files, TESLIM_REQUEST_TIMEOUT: '1', TESLIM_SHUTDOWN_SECONDS: '1' }
  const server = await serve({ cwd: tempFolder(), env })

  it('both are warned about, and are no errors', async () => {
    await server.printed(/"level":40,[^\n]*the certificate expired on 2026-01-02/)
    await server.printed(/"level":40,[^\n]*every user of this machine can read TESLIM_TLS_KEY/)
  })

  it('the limits are those of plain HTTP', async () => {
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

  it('SIGTERM ends it with 0 in the time given, even while a client does not go on with its handshake', async () => {
    const server = await serve({ cwd, env })
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
    await shared.printed(/"serialNumber":"01","expires":"[^"]+"\},"msg":"this TLS certificate is in use"/)
    const agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false })
    const ask = () =>
      new Promise<{ status: number | undefined; port: number | undefined }>((resolve, reject) => {
        get(`${shared.url}/livez`, { agent }, (answer) => {
          const { localPort: port } = answer.socket
          answer.resume().on('end', () => resolve({ status: answer.statusCode, port }))
        }).on('error', reject)
      })
    const before = await ask()
    const serial = await renew()
    expect(await serialOf(shared.url)).toBe(serial)
    expect([before, await ask()]).toEqual([
      { status: 200, port: before.port },
      { status: 200, port: before.port },
    ])
    agent.destroy()
  })

  it.each([
    ['is cut short', (_key: string, certificate: string) => ({ certificate: certificate.slice(0, 200) })],
    ['is empty', () => ({ certificate: '' })],
    ['came before its key', () => ({ certificate: makeCertificate({ names: NAMES }).certificate })],
    ['has no key any more', () => ({ key: '' })],
  ] as const)('keeps the certificate when the new one %s, and says so', async (_name, broken) => {
    const before = await serialOf(shared.url)
    const files = { ...current, ...broken(current.key, current.certificate) }
    await reload(files, /"level":50,[^\n]*TESLIM_TLS_[^\n]*; the certificate from before stays in use/)
    expect(await serialOf(shared.url)).toBe(before)
    const serial = await renew()
    expect(await serialOf(shared.url)).toBe(serial)
  })

  it('keeps the certificate when the new one is worse: expired, not yet valid, or not for a name of the current one', async () => {
    const before = await serialOf(shared.url)
    const day = 86_400_000
    const worse: [Wanted, RegExp][] = [
      [{ from: 0, until: Date.now() - 1000 }, /the certificate expired on \d{4}/],
      [{ from: Date.now() + day }, /the certificate is not valid before \d{4}/],
      [
        { names: NAMES.slice(0, -1), addresses: [] },
        /the certificate is not for \*\.example\.org, 127\.0\.0\.1, as the one in use is/,
      ],
    ]
    for (const [wanted, why] of worse) {
      const line = `"level":50,[^\\n]*${why.source}[^\\n]*; the certificate from before stays in use`
      await reload(makeCertificate({ names: NAMES, serial: 99, ...wanted }), new RegExp(line))
      expect(await serialOf(shared.url)).toBe(before)
    }
    const output = shared.output().length
    // The wildcard stands for api.example.com too.
    const serial = await renew({ names: NAMES.filter((name) => name !== 'api.example.com'), until: Date.now() + day })
    await shared.printed(/"level":40,[^\n]*expires before the certificate that was in use/, output)
    expect(await serialOf(shared.url)).toBe(serial)
  })

  it('does no harm without a certificate', async () => {
    const server = await serve({ cwd, env: production })
    server.child.kill('SIGHUP')
    await server.printed(/SIGHUP: there is no certificate to read again/)
    expect((await fetch(`${server.url}/livez`)).status).toBe(200)
  })

  it('of a terminal that goes away ends the server in order', async () => {
    const command = `exec ${shellCommand('serve')}`
    const env = { PATH: process.env.PATH ?? '', PORT: '0', NODE_ENV: 'production' }
    const terminal = spawn('script', ['-qc', `echo "pid $$"; ${command}`, '/dev/null'], { cwd, env })
    const spawned = await Promise.race([once(terminal, 'spawn'), once(terminal, 'error')]).then(([error]) => !error)
    if (!spawned) return console.warn('skipped: there is no command "script" to make a terminal with')
    let printed = ''
    terminal.stdout.setEncoding('utf8')
    for await (const chunk of terminal.stdout) {
      printed += chunk
      if (printed.includes('no store')) break
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
  const startLine = async (files: Record<string, string>, run: typeof runPrepared = runPrepared) => {
    const { status, stderr } = await run(['serve'], { cwd, env: { NODE_ENV: 'production', PORT: '0', ...files } })
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
    expect(await startLine(files, teslim)).toBe(
      `teslim serve: TESLIM_TLS_KEY ${files.TESLIM_TLS_KEY} is not the key of the first certificate in TESLIM_TLS_CERT ${files.TESLIM_TLS_CERT}, which is CN=ours`,
    )
  })
})
