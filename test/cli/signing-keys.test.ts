import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beforeEach, describe, expect, inject, it } from 'vitest'
import { fetch } from '../support/app/checked-fetch.ts'
import { PASSWORD, testApp } from '../support/app/test-app.ts'
import { newDatabase, runSql } from '../support/postgres/postgres-server.ts'
import { runCommand } from '../support/processes/command.ts'
import { type Outcome, serve, teslim } from '../support/processes/process.ts'
import { createStore } from '../support/store/create-store.ts'
import { storesOfRun } from '../support/store/stores.ts'
import { tempFolder } from '../support/temp-folder.ts'

const SECRET = 'a secret of enough characters'
const OTHER = 'another secret, just as long'
/** Secrets that do not open keys under SECRET, and what is said then. */
const REFUSED: [string, RegExp][] = [
  [OTHER, /TESLIM_SECRET .* is not the secret/],
  ['', /neither TESLIM_SECRET nor TESLIM_SECRET_FILE/],
]
const root = tempFolder()
let cwd = ''
let counter = 0
beforeEach(async () => {
  cwd = join(root, String(++counter))
  mkdirSync(cwd)
  await createStore(cwd)
})

const run = (args: string[], env = {}, stdin = '') => runCommand(args, { cwd, env, stdin })
const runProcess = (args: string[], env = {}) => teslim(args, { cwd, env })
const json = async (args: string[], env = {}, stdin = '') => parse(await run([...args, '--json'], env, stdin))
const jsonOfProcess = async (args: string[], env = {}) => parse(await runProcess([...args, '--json'], env))
const parse = ({ status, stdout, stderr }: Outcome) => {
  expect([status, stderr]).toEqual([0, ''])
  return JSON.parse(stdout)
}
const rows = (): { kid: string; private_jwk: string }[] => {
  const database = new DatabaseSync(join(cwd, 'data/teslim.db'))
  const all = database.prepare('SELECT kid, private_jwk FROM signing_key ORDER BY created_at').all()
  database.close()
  return all as { kid: string; private_jwk: string }[]
}
const view = {
  kid: expect.stringMatching(/^[\w-]{43}$/),
  algorithm: 'ES256',
  state: 'signs',
  createdAt: expect.stringMatching(/Z$/),
  expiresAt: null,
  encrypted: false,
}

describe('signing keys on the command line', () => {
  it('are listed and rotated, without their private parts', async () => {
    expect((await run(['signing-key', 'list'])).stdout).toBe(
      'There are no signing keys yet: the first login creates one.\n',
    )
    expect(await json(['signing-key', 'list'])).toEqual([])
    const { made, ...first } = await json(['signing-key', 'rotate'])
    expect([made, first]).toEqual([true, view])
    const { made: _, ...second } = await json(['signing-key', 'rotate'], { TESLIM_SECRET: SECRET })
    expect(second).toEqual({ ...view, encrypted: true })
    const listed = await json(['signing-key', 'list'])
    expect(listed).toEqual([second, { ...first, state: 'verifies', expiresAt: expect.any(String) }])
    const ends = Date.parse(listed[1].expiresAt) - Date.parse(second.createdAt)
    expect(ends).toBe((3600 + 300) * 1000)
    const { stdout } = await run(['signing-key', 'list'])
    const [heading, ...lines] = stdout.trimEnd().split('\n')
    expect(heading).toMatch(/^kid +algorithm +state +created \(UTC\) +expires \(UTC\) +stored$/)
    expect(lines).toEqual([
      expect.stringMatching(/^\S+ +ES256 +signs +\S+ \S+ +when replaced +encrypted$/),
      expect.stringMatching(/^\S+ +ES256 +verifies +\S+ \S+ +\S+ \S+ +unencrypted$/),
    ])
    const { d } = JSON.parse(rows()[0]?.private_jwk ?? '')
    expect(stdout + JSON.stringify(listed)).not.toContain(d)
    expect((await run(['signing-key', 'rotate'])).stderr).toContain('neither TESLIM_SECRET nor TESLIM_SECRET_FILE')
    expect(rows()).toHaveLength(2)
  })

  it('that have leaked are removed immediately, whatever their algorithm', async () => {
    await json(['signing-key', 'rotate'], { TESLIM_TOKEN_ALGORITHM: 'EdDSA' })
    await json(['signing-key', 'rotate'])
    const { kid } = await json(['signing-key', 'rotate', '--at-once'])
    expect(rows().map((row) => row.kid)).toEqual([kid])
    expect((await run(['signing-key', 'rotate', '--at-once'])).stdout).toMatch(
      /^\S{43} signs from now on\.\nTokens issued before are refused: customers log in again\.\n$/,
    )
    await json(['signing-key', 'rotate', '--at-once'], { TESLIM_TOKEN_ALGORITHM: 'EdDSA' })
    expect(rows()).toHaveLength(1)
  })

  it('rotated by several processes at once are rotated once for each process that reports it', async () => {
    await json(['signing-key', 'rotate'])
    const all = await Promise.all([1, 2, 3].map(() => jsonOfProcess(['signing-key', 'rotate'])))
    const made = all.filter((one) => one.made).map(({ kid }) => kid)
    expect(made.length).toBeGreaterThan(0)
    expect(rows()).toHaveLength(1 + made.length)
    const signing = (await json(['signing-key', 'list'])).filter(({ state }: { state: string }) => state === 'signs')
    expect(signing).toHaveLength(1)
  })
})

describe('signing-key rewrap', () => {
  it('encrypts unencrypted keys, leaves no trace of them in the file, and follows a change of secret', async () => {
    await json(['signing-key', 'rotate'])
    await json(['signing-key', 'rotate'])
    const plain = rows().map(({ private_jwk }) => JSON.parse(private_jwk).d as string)
    expect(await json(['signing-key', 'rewrap'], { TESLIM_SECRET: SECRET })).toEqual({ rewrapped: 2, kept: 0 })
    const file = readFileSync(join(cwd, 'data/teslim.db'))
    for (const d of plain) expect(file.includes(d)).toBe(false)
    expect(await json(['signing-key', 'rewrap'], { TESLIM_SECRET: SECRET })).toEqual({ rewrapped: 0, kept: 2 })

    const before = rows()
    const wrong: [Record<string, string>, string[]][] = [
      [{ TESLIM_SECRET: OTHER }, []],
      [{ TESLIM_SECRET: OTHER, TESLIM_SECRET_OLD: `${SECRET}!` }, []],
      [{ TESLIM_SECRET: OTHER }, ['--old-secret-stdin']],
    ]
    for (const [env, more] of wrong) {
      const { status, stdout, stderr } = await run(['signing-key', 'rewrap', ...more], env, `${SECRET}!`)
      expect([status, stdout]).toEqual([1, ''])
      expect(stderr).toMatch(/^teslim signing-key rewrap: .*TESLIM_SECRET.*nothing was changed\)\n$/)
      expect(stderr).not.toContain(SECRET)
    }
    expect(rows()).toEqual(before)

    const changed = { TESLIM_SECRET: OTHER, TESLIM_SECRET_OLD: SECRET }
    expect(await json(['signing-key', 'rewrap'], changed)).toEqual({ rewrapped: 2, kept: 0 })
    const { stdout } = await run(
      ['signing-key', 'rewrap', '--old-secret-stdin'],
      { TESLIM_SECRET: SECRET },
      `${OTHER}\n`,
    )
    expect(stdout).toBe('Encrypted under TESLIM_SECRET: 2 now, 0 before.\n')
    writeFileSync(join(cwd, 'old'), `${SECRET}\n`)
    writeFileSync(join(cwd, 'new'), `${OTHER}\r\n`)
    const files = { TESLIM_SECRET_FILE: 'new', TESLIM_SECRET_OLD_FILE: 'old' }
    expect(await json(['signing-key', 'rewrap'], files)).toEqual({ rewrapped: 2, kept: 0 })
    expect(await json(['signing-key', 'rewrap'], { TESLIM_SECRET: OTHER })).toEqual({ rewrapped: 0, kept: 2 })
  })

  it('without a secret says what to set', async () => {
    const { status, stderr } = await run(['signing-key', 'rewrap'])
    expect([status, stderr]).toEqual([2, expect.stringContaining('set TESLIM_SECRET to at least 16 characters')])
    const { status: empty, stderr: line } = await run(['signing-key', 'rewrap', '--old-secret-stdin'])
    expect([empty, line]).toEqual([2, expect.stringContaining('there is no secret on stdin')])
  })

  it('run by several processes at once encrypts each key once, on PostgreSQL too', async () => {
    const env = { DATABASE_URL: await newDatabase(inject('postgresUrl')), TESLIM_SECRET: SECRET }
    await json(['migrate'], env)
    await json(['signing-key', 'rotate'], { DATABASE_URL: env.DATABASE_URL })
    const all = await Promise.all([1, 2].map(() => jsonOfProcess(['signing-key', 'rewrap'], env)))
    expect(all.map(({ rewrapped }) => rewrapped).toSorted()).toEqual([0, 1])
    const [row] = await runSql(env.DATABASE_URL, 'SELECT private_jwk FROM signing_key')
    expect(row?.private_jwk).toMatch(/^v1\./)
  })
})

const login = async (url: string): Promise<string> => {
  const answer = await fetch(`${url}/Login/Customer/Api/Verify`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ Email: 'a@b.co', Password: PASSWORD }),
  })
  expect(answer.status).toBe(200)
  return ((await answer.json()) as { data: { Token: string } }).data.Token
}

describe.each(storesOfRun())('beside running servers on %s', (kind, emptyStore) => {
  const prepare = async () => {
    const env = { NODE_ENV: 'production', ...(await emptyStore()) }
    const add = ['customer', 'add', '--email', 'a@b.co', '--api', '--allow', '*', '--password-stdin']
    await run(['migrate'], env)
    await json(add, env, PASSWORD)
    const { key } = await json(['key', 'issue', '--customer', 'a@b.co'], env)
    const count = kind === 'postgres' ? 2 : 1
    const servers = await Promise.all(Array.from({ length: count }, () => serve({ cwd, env })))
    const all = (status: number): number[] => servers.map(() => status)
    const deliver = (token: string) => (server: { url: string }) =>
      fetch(`${server.url}/Purchase/update`, {
        method: 'POST',
        headers: { ApiKey: key, Authorization: `Bearer ${token}` },
        body: '{"Status":1}',
      }).then(({ status }) => status)
    return { env, servers, all, everywhere: (token: string) => Promise.all(servers.map(deliver(token))) }
  }

  it('revoked tokens, rotated and rewrapped keys reach every server', async () => {
    const { env, servers, all, everywhere } = await prepare()
    const [one, other] = [servers[0], servers.at(-1)] as [(typeof servers)[0], (typeof servers)[0]]
    const revoked = await login(one.url)
    expect(await everywhere(revoked)).toEqual(all(200))
    expect(await json(['token', 'revoke', '--customer', 'A@b.co'], env)).toEqual({
      id: expect.any(String),
      email: 'a@b.co',
    })
    expect(await everywhere(revoked)).toEqual(all(401))

    const before = await login(other.url)
    await json(['signing-key', 'rotate'], env)
    const keys = async ({ url }: { url: string }) =>
      ((await (await fetch(`${url}/.well-known/jwks.json`)).json()) as { keys: object[] }).keys.length
    for (const server of servers) await expect.poll(() => keys(server), { timeout: 1000 }).toBe(2)
    expect(await json(['signing-key', 'rewrap'], { ...env, TESLIM_SECRET: SECRET })).toEqual({ rewrapped: 2, kept: 0 })
    expect(await everywhere(before)).toEqual(all(200))
    expect(await everywhere(await login(one.url))).toEqual(all(200))
    for (const server of servers) server.child.kill('SIGTERM')
    for (const server of servers) expect(await server.ended).toBe(0)

    const started = await testApp({ ...env, TESLIM_SECRET: SECRET })
    expect((await started.login({ Email: 'a@b.co', Password: PASSWORD })).statusCode).toBe(200)
    expect(JSON.stringify(started.log)).not.toContain('encrypted')
    for (const [secret, line] of REFUSED) {
      const { status, stderr } = await run(['signing-key', 'rotate'], { ...env, TESLIM_SECRET: secret })
      expect([status, stderr]).toEqual([1, expect.stringMatching(line)])
    }
  })
})

it.each(REFUSED)('a server does not start on signing keys that the secret %j does not open', async (secret, line) => {
  await json(['signing-key', 'rotate'], { TESLIM_SECRET: SECRET })
  const { status, stderr } = await runProcess(['serve'], { TESLIM_SECRET: secret, PORT: '0', NODE_ENV: 'production' })
  expect([status, stderr.trimEnd().split('\n')]).toEqual([1, [expect.stringMatching(line)]])
})

it('token revoke says what is wrong, and what it did', async () => {
  await run(['customer', 'add', '--email', 'a@b.co', '--generate'])
  expect((await run(['token', 'revoke', '--customer', 'a@b.co'])).stdout).toBe(
    'The access tokens of a@b.co are revoked.\n',
  )
  const { status, stderr } = await run(['token', 'revoke', '--customer', 'x@y.z'])
  expect([status, stderr]).toEqual([1, 'teslim token revoke: There is no customer "x@y.z".\n'])
  expect((await run(['token', 'revoke'])).status).toBe(2)
})
