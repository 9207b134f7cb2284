import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beforeEach, describe, expect, it } from 'vitest'
import { loadConfig } from '#src/config/load-config.ts'
import { systemClock } from '#src/lib/clock.ts'
import { systemRandom } from '#src/lib/random.ts'
import { signingKeyRules } from '#src/token/open-signing-keys.ts'
import { addCustomer, PASSWORD, testApp } from '../support/app/test-app.ts'
import { runCommand } from '../support/processes/command.ts'
import { commandStage } from '../support/processes/command-stage.ts'
import { type Outcome, teslim } from '../support/processes/process.ts'
import { createStore } from '../support/store/create-store.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { until } from '../support/until.ts'

const SECRET = 'a secret of enough characters'
const OTHER = 'another secret, just as long'
/** Secrets that do not open keys under SECRET, and what is said then. */
const REFUSED: [string, RegExp][] = [
  [OTHER, /TESLIM_SECRET .* is not the secret/],
  ['', /neither TESLIM_SECRET nor TESLIM_SECRET_FILE/],
]
let cwd = ''
beforeEach(async () => {
  cwd = tempFolder()
  await createStore(cwd)
})

const run = (args: string[], env = {}, stdin = '') => runCommand(args, { cwd, env, stdin })
const json = async (args: string[], env = {}, stdin = '') => parse(await run([...args, '--json'], env, stdin))
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
      /^\S{43} signs from now on\.\nTokens issued before are refused within a second: customers log in again\.\n$/,
    )
    await json(['signing-key', 'rotate', '--at-once'], { TESLIM_TOKEN_ALGORITHM: 'EdDSA' })
    expect(rows()).toHaveLength(1)
  })

  it('rotated and encrypted by several at once are rotated once for each that reports it, and encrypted once', async () => {
    await json(['signing-key', 'rotate'])
    await commandStage({}, cwd).withStore(async (store) => {
      const { config } = loadConfig({ TESLIM_SECRET: SECRET })
      const rules = await signingKeyRules(store, config, { clock: systemClock, random: systemRandom })
      const rotated = await Promise.all([1, 2, 3].map(() => rules.rotate(false)))
      const made = rotated.filter((each) => each.made).length
      expect([made > 0, rows().length]).toEqual([true, 1 + made])
      expect((await rules.list()).filter(({ state }) => state === 'signs')).toHaveLength(1)
      expect((await Promise.all([rules.rewrap(), rules.rewrap()])).map(({ rewrapped }) => rewrapped).sort()).toEqual([
        0, 1,
      ])
    })
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
})

it('beside a running server keys are rotated and encrypted: it goes on with those it has, and the next one needs the secret', async () => {
  const DATABASE_URL = `sqlite:${join(cwd, 'data/teslim.db')}`
  const service = await testApp({ DATABASE_URL })
  const { email } = await addCustomer(service)
  const logIn = async (to = service) => (await to.login({ Email: email, Password: PASSWORD })).json().data.Token
  const before = await logIn()
  await json(['signing-key', 'rotate'])
  service.clock.time += 1000
  await until(
    'it knows both',
    async () => (await service.app.inject('/.well-known/jwks.json')).json().keys.length === 2,
  )
  expect(await json(['signing-key', 'rewrap'], { TESLIM_SECRET: SECRET })).toEqual({ rewrapped: 2, kept: 0 })
  for (const token of [before, await logIn()])
    expect(await service.app.accessTokens.verify(token, '::1')).toMatchObject({ scope: 'customer' })
  const started = await testApp({ DATABASE_URL, TESLIM_SECRET: SECRET })
  expect(await started.app.accessTokens.verify(await logIn(started), '::1')).toMatchObject({ scope: 'customer' })
  expect(JSON.stringify(started.log)).not.toContain('encrypted')
  for (const [secret, line] of REFUSED) {
    const { status, stderr } = await run(['signing-key', 'rotate'], { TESLIM_SECRET: secret })
    expect([status, stderr]).toEqual([1, expect.stringMatching(line)])
  }
})

it('a server does not start on signing keys that its secret does not open, and says so in one line', async () => {
  await json(['signing-key', 'rotate'], { TESLIM_SECRET: SECRET })
  const env = { TESLIM_SECRET: OTHER, PORT: '0', NODE_ENV: 'production' }
  const { status, stderr } = await teslim(['serve'], { cwd, env })
  expect([status, stderr.trimEnd().split('\n')]).toEqual([
    1,
    [expect.stringMatching(/TESLIM_SECRET .* is not the secret/)],
  ])
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
