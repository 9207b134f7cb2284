import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { beforeEach, describe, expect, inject, it } from 'vitest'
import { fetch } from '../support/app/checked-fetch.ts'
import { newDatabase } from '../support/postgres/postgres-server.ts'
import { keyOfSupplier } from '../support/processes/ledger.ts'
import { runPrepared } from '../support/processes/prepared-commands.ts'
import { COMMAND_PATTERN, SCRIPT, serve, teslim } from '../support/processes/process.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { until } from '../support/until.ts'

const production = { NODE_ENV: 'production' }
const PASSWORD = 'correct horse battery staple'
const root = tempFolder()
let cwd = ''
let counter = 0
beforeEach(async () => {
  cwd = join(root, String(++counter))
  const { mkdir } = await import('node:fs/promises')
  await mkdir(cwd)
})

const login = (url: string, body: object, headers = {}) =>
  fetch(`${url}/Login/Customer/Api/Verify`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })

const everywhereCwd = tempFolder()
const everywhere = await serve({ cwd: everywhereCwd, env: { HOST: '0.0.0.0', TESLIM_OPS_PORT: '0' } })

describe('the first run', () => {
  it('makes a sandbox customer, prints two curl commands that work as pasted, and makes it once, with another password in another store', async () => {
    const first = await serve({ cwd })
    await first.printed(/curl .*\/Purchase\/update.*\n/)
    const commands = first.output().match(/curl .+/g) ?? []
    expect(commands).toHaveLength(2)
    const answers = commands.map(async (command) => {
      const shell = spawn('sh', ['-c', `${command} -w '%{http_code}'`])
      const [body = '', status] = (await text(shell.stdout)).split('\n')
      return [status, JSON.parse(body)]
    })
    expect(await Promise.all(answers)).toMatchObject([
      ['200', { success: true, data: { Token: expect.any(String) } }],
      ['200', { success: true, data: { ReceiptID: expect.any(String), OrderID: 'PO-1', Status: 2 } }],
    ])
    expect(statSync(join(cwd, 'data')).mode & 0o777).toBe(0o700)

    const passwordOf = (output: string): string | undefined => /password +(\S{24})$/m.exec(output)?.[1]
    const other = await serve({ cwd: tempFolder(), env: { HOST: 'localhost' } })
    await other.printed(/curl .*\/Purchase\/update.*\n/)
    expect(passwordOf(first.output())).toBeDefined()
    expect(passwordOf(other.output())).toBeDefined()
    expect(passwordOf(other.output()), 'in another store').not.toBe(passwordOf(first.output()))
    first.child.kill('SIGTERM')
    await first.ended
    const second = await serve({ cwd })
    await second.printed(/This store has the sandbox customer/)
    expect(passwordOf(second.output())).toBeUndefined()
  })

  it('makes none where the network reaches it and says what to do instead, and opens no second port with TESLIM_OPS_PORT=0', async () => {
    await everywhere.printed(
      new RegExp(
        `"level":40,[^\\n]*no sandbox customer was created, since the network reaches HOST=0\\.0\\.0\\.0: set HOST=127\\.0\\.0\\.1 [^\\n]*${COMMAND_PATTERN} customer add `,
      ),
    )
    expect(everywhere.output()).not.toMatch(/password {2}|curl|metrics/)
    const { stdout } = await runPrepared(['customer', 'list', '--json'], { cwd: everywhereCwd })
    expect(JSON.parse(stdout)).toEqual([])
  })

  it('warns of a sandbox customer of before where the network reaches it', async () => {
    const first = await serve({ cwd })
    await first.printed(/curl/)
    first.child.kill('SIGTERM')
    await first.ended
    const second = await serve({ cwd, env: { HOST: '::' } })
    await second.printed(new RegExp(`"level":40,[^\\n]*${COMMAND_PATTERN} customer disable sandbox@example\\.com`))
  })

  it('is one in production under NODE_ENV=staging, which is said once, and beside the service links of Kubernetes', async () => {
    const links = { TESLIM_PORT: 'tcp://10.0.0.1:3000', TESLIM_SERVICE_HOST: '10.0.0.1', TESLIM_SERVICE_PORT: '3000' }
    const server = await serve({ cwd, env: { NODE_ENV: 'staging', LOG_LEVEL: 'INFO', ...links } })
    await server.printed(/no store: requests get 503/)
    expect(server.output()).not.toContain('password')
    expect(server.output().match(/"level":30,[^\n]*staging.*/g)).toEqual([
      expect.stringMatching(/"msg":"NODE_ENV: \\"staging\\" counts as production"/),
    ])
  })

  it('made by several servers at once on PostgreSQL is made once, and all serve', async () => {
    const env = { DATABASE_URL: await newDatabase(inject('postgresUrl')) }
    const servers = await Promise.all([1, 2].map(() => serve({ cwd, env })))
    for (const { url } of servers) expect((await fetch(`${url}/readyz`)).status).toBe(200)
    const list = async () => JSON.parse((await runPrepared(['customer', 'list', '--json'], { cwd, env })).stdout)
    await expect.poll(list, { timeout: 20_000 }).toHaveLength(1)
  })
})

/** A login of which all but the last byte has been sent. */
async function halfSentLogin(url: string) {
  const body = JSON.stringify({ Email: 'a@b.co', Password: PASSWORD })
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  const answer = text(socket)
  const head = [
    'POST /Login/Customer/Api/Verify HTTP/1.1',
    'Host: x',
    'Content-Type: application/json',
    'Expect: 100-continue',
    `Content-Length: ${body.length}`,
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n`)
  // The server says "100 Continue" once it works on the request.
  await once(socket, 'readable')
  socket.write(body.slice(0, -1))
  return { socket, answer, finish: () => socket.write(body.slice(-1)) }
}

describe('a signal', () => {
  it('that a terminal sends and npm start passes on counts once; a later one ends the server at once, non-zero', async () => {
    await keyOfSupplier({ cwd })
    const server = await serve({ cwd, env: { ...production, TESLIM_SHUTDOWN_SECONDS: '600' } })
    const [finished] = await Promise.all([halfSentLogin(server.url), halfSentLogin(server.url)])
    for (let time = 0; time < 2; time++) server.child.kill('SIGINT')
    await server.printed(/stopping/)
    finished.finish()
    expect(await finished.answer).toMatch(/HTTP\/1\.1 400 /)
    server.child.kill('SIGTERM')
    expect(await server.ended).toBe(1)
  })
})

it('a rejection that nobody handles is logged and ends the process with 1', async () => {
  const forget = `process.on('SIGUSR2', () => Promise.reject(new Error('nobody awaits this')))`
  const node = ['--import', `data:text/javascript,${encodeURIComponent(forget)}`]
  const server = await serve({ cwd, env: production, node, program: SCRIPT })
  server.child.kill('SIGUSR2')
  expect(await server.ended).toBe(1)
  expect(server.output()).toMatch(/^{"level":60,.*nobody awaits this.*"msg":"unhandled rejection"/m)
})

describe('what goes wrong at the start is one clear line', () => {
  const failing = async (args: string[], env = {}) => {
    const { status, stdout, stderr } = await teslim(args, { cwd, env })
    expect(stderr).not.toMatch(/\n\s+at |node:/)
    expect(stderr.trimEnd().split('\n')).toHaveLength(1)
    return { status, stdout, stderr: stderr.trimEnd() }
  }

  it('a port in use', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const { port } = taken.address() as AddressInfo
    const { status, stderr } = await failing(['serve'], { PORT: String(port) })
    expect([status, stderr]).toEqual([
      1,
      `teslim serve: cannot listen on 127.0.0.1:${port}: the port is in use; set PORT to another one`,
    ])
    taken.close()
    const { stdout } = await runPrepared(['customer', 'list', '--json'], { cwd })
    expect(JSON.parse(stdout), 'no sandbox customer whose password nobody saw').toEqual([])
  })

  it('a data folder that cannot be written', async () => {
    writeFileSync(join(cwd, 'data'), '')
    const { status, stderr } = await failing(['serve'])
    expect(status).toBe(1)
    expect(stderr).toMatch(/^teslim serve: The store \/.+\/data\/teslim\.db cannot be opened: /)
  })

  it.each(['serve', 'migrate', 'delivery list'])('a folder for a store: %s', async (command) => {
    mkdirSync(join(cwd, 'data/teslim.db'), { recursive: true })
    const { status, stderr } = await failing(command.split(' '))
    const message = `The store ${join(cwd, 'data/teslim.db')} cannot be opened: it is a folder, name a file in it`
    expect([status, stderr]).toEqual([1, `teslim ${command}: ${message}`])
  })

  it('a store made by a newer version', async () => {
    await runPrepared(['migrate'], { cwd })
    const { DatabaseSync } = await import('node:sqlite')
    const raw = new DatabaseSync(join(cwd, 'data/teslim.db'))
    raw.exec("INSERT INTO schema_migration VALUES (9999, 'from-the-future', '', 0, 9999, '9.0.0')")
    raw.close()
    const { status, stderr } = await failing(['serve'])
    expect([status, stderr]).toEqual([1, expect.stringMatching(/^teslim serve: The store is at schema 9999, /)])
  })

  it('wrong settings, one line each', async () => {
    const env = { PORT: 'x', TESLIM_TOKEN_TLT: '5' }
    const { status, stdout, stderr } = await teslim(['serve'], { cwd, env })
    expect([status, stdout]).toEqual([2, ''])
    expect(stderr.trimEnd().split('\n')).toEqual([
      'teslim: TESLIM_TOKEN_TLT: there is no such setting (found in the environment), did you mean TESLIM_TOKEN_TTL?',
      'teslim: PORT: "x" is not allowed, it must be a whole number from 0 to 65535',
    ])
  })

  it.each([
    [['srve'], 'teslim: there is no command "srve", did you mean "serve"? (see teslim --help)'],
    [['customer', 'show'], 'teslim customer show: CUSTOMER is missing'],
  ])('the command line %j', async (args, line) => {
    const { status, stdout, stderr } = await runPrepared(args, { cwd })
    expect([status, stdout]).toEqual([2, ''])
    expect(stderr).toContain(line)
    expect(stderr.trimEnd().split('\n')).toHaveLength(1)
  })
})

/** Serves a store without a customer in production, with every kind of secret in requests, until SIGTERM comes beside a request in flight. */
async function productionSession() {
  const cwd = tempFolder()
  const secrets = [PASSWORD, 'callback-4711', 'wrong-pass-word', 'query-secret-9', 'authorization-secret']
  const run = async (stdin: string, ...args: string[]) =>
    (await runPrepared([...args, '--json'], { cwd, stdin })).stdout
  await run('', 'migrate')
  const server = await serve({ cwd, env: { ...production, LOG_LEVEL: 'trace' } })
  const { url } = server
  await server.printed(new RegExp(`no customer yet.*${COMMAND_PATTERN} customer add --email`))
  const listed = await run('', 'customer', 'list')
  await run(PASSWORD, 'customer', 'add', '--email', 'a@b.co', '--api', '--password-stdin')

  const loggedIn = await login(url, { Email: 'a@b.co', Password: PASSWORD, callbackData: 'callback-4711' })
  const { data } = (await loggedIn.json()) as { data: { Token: string } }
  secrets.push(data.Token, data.Token.split('.')[2] ?? '')
  await login(url, { Email: 'a@b.co', Password: 'wrong-pass-word' })
  const { key } = JSON.parse(await run('', 'key', 'issue', '--customer', 'a@b.co'))
  secrets.push(key, 'order-secret')
  for (const apiKey of [key, `${key}x`]) {
    const body = '{"Status":1,"OrderID":"order-secret","ProductID":"order-secret"}'
    await fetch(`${url}/Purchase/update`, { method: 'POST', headers: { ApiKey: apiKey }, body })
  }
  await login(url, { Email: 'a@b.co', Password: PASSWORD }, { authorization: 'Bearer authorization-secret' })
  await fetch(`${url}/nowhere/query-secret-9?ApiKey=query-secret-9&access_token=query-secret-9`)
  await fetch(`${url}/Login/Customer/Api/Verify`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: `{"Email":"a@b.co","Password":"wrong-pass-word"`,
  })
  const raw = connect(Number(new URL(url).port), '127.0.0.1')
  raw.end('GET /query-secret-9 HTP/1.1\r\nAuthorization: authorization-secret\r\n\r\n')
  const broken = await text(raw)

  const { answer, finish } = await halfSentLogin(url)
  server.child.kill('SIGTERM')
  await server.printed(/stopping/)
  // The line is printed before the port is closed.
  await until('connections are refused', async () => (await connecting(url)) === 'ECONNREFUSED')
  finish()
  const finished = await answer
  const status = await server.ended
  const wal = existsSync(join(cwd, 'data/teslim.db-wal'))
  return { listed, loggedIn, broken, finished, status, wal, secrets, output: server.output() }
}

const connecting = (url: string): Promise<string | undefined> =>
  new Promise((resolve) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () => {
      socket.destroy()
      resolve('connected')
    })
    socket.on('error', ({ code }: NodeJS.ErrnoException) => resolve(code))
  })

describe('a session in production', async () => {
  const { listed, loggedIn, broken, finished, status, wal, secrets, output } = await productionSession()

  it('makes nothing in production and logs which command to run; a customer that the CLI adds meanwhile logs in', () => {
    expect(output).not.toContain('password  ')
    expect(JSON.parse(listed)).toEqual([])
    expect(loggedIn.status).toBe(200)
  })

  it('SIGTERM lets a request in flight finish, turns others away and exits 0', () => {
    expect(finished).toMatch(/HTTP\/1\.1 200 OK/)
    expect([status, wal]).toEqual([0, false])
  })

  it('the log of a full session holds no password, token, key, callbackData, payload or address line', () => {
    expect(broken).toMatch(/^HTTP\/1\.1 400 /)
    for (const secret of secrets) expect(output).not.toContain(secret)
    const lines = output
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    // The request in flight is the eighth.
    expect(lines.filter(({ msg }) => msg === 'request')).toHaveLength(8)
    expect(lines.filter(({ msg }) => msg === 'broken request')).toHaveLength(1)
  })
})

describe('a client', () => {
  it('that goes away leaves a log line that says so', async () => {
    const socket = connect(Number(new URL(everywhere.url).port), '127.0.0.1')
    const head = [
      'POST /Login/Customer/Api/Verify HTTP/1.1',
      'Host: x',
      'X-Request-Id: gone',
      'Content-Length: 9',
      'Expect: 100-continue',
    ]
    socket.write(`${head.join('\r\n')}\r\nContent-Type: application/json\r\n\r\n`)
    await once(socket, 'readable')
    socket.destroy()
    await everywhere.printed(/"requestId":"gone".*"aborted":true/)
  })

  it('that never finishes does not keep the server from exiting with 0 in the time given', async () => {
    const server = await serve({ cwd, env: { TESLIM_SHUTDOWN_SECONDS: '1' } })
    await halfSentLogin(server.url)
    server.child.kill('SIGTERM')
    expect(await server.ended).toBe(0)
    expect(server.output()).toContain('cut off')
  })
})
