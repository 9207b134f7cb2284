import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { verify } from '@node-rs/argon2'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { runCommand } from '../support/processes/command.ts'
import { printedBy } from '../support/processes/command-stage.ts'
import { teslim } from '../support/processes/process.ts'
import { createStore } from '../support/store/create-store.ts'
import { tempFolder } from '../support/temp-folder.ts'

const PASSWORD = 'correct horse battery staple'
let cwd = ''
beforeEach(async () => {
  cwd = tempFolder()
  await createStore(cwd)
})

const run = (args: string[], stdin: string | Buffer = '', env = {}) => runCommand(args, { cwd, stdin, env })
const runProcess = (args: string[], stdin: string | Buffer = '') => teslim(args, { cwd, stdin })
const json = async (args: string[], stdin = '') => JSON.parse(printedBy(await run([...args, '--json'], stdin)))
const add = ['customer', 'add', '--email', 'a@b.co', '--api', '--region', 'TR', '--region', 'DE', '--allow', 'SKU-*']

describe('customers on the command line', () => {
  const view = {
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    email: 'a@b.co',
    name: '',
    note: '',
    isApi: true,
    operator: false,
    readOnly: false,
    scope: 'customer',
    payloads: true,
    enabled: true,
    disabledReason: '',
    regions: ['DE', 'TR'],
    authority: ['SKU-*'],
    createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    silenceSeconds: null,
    silentSince: null,
  }

  it('are added, shown, changed and listed, as JSON', async () => {
    const added = await json([...add, '--password-stdin'], PASSWORD)
    expect(added).toEqual(view)
    expect(await json(['customer', 'show', 'A@B.CO'])).toEqual(added)
    expect(await json(['customer', 'show', added.id])).toEqual(added)
    expect(await json(['customer', 'allow', 'a@b.co', 'X', 'Y-*'])).toEqual({
      ...added,
      authority: ['SKU-*', 'X', 'Y-*'],
    })
    expect(await json(['customer', 'disallow', 'a@b.co', 'SKU-*', 'X'])).toEqual({ ...added, authority: ['Y-*'] })
    expect(await json(['customer', 'disable', 'a@b.co'])).toEqual({ ...added, enabled: false, authority: ['Y-*'] })
    expect(await json(['customer', 'enable', 'a@b.co'])).toEqual({ ...added, authority: ['Y-*'] })
    expect(await json(['customer', 'list'])).toEqual([{ ...added, authority: ['Y-*'] }])
    expect(await json(['customer', 'set-password', 'a@b.co', '--password-stdin'], PASSWORD)).toEqual({
      ...added,
      authority: ['Y-*'],
    })
  })

  it('keep all rules if one of those to remove is not theirs', async () => {
    await run([...add, '--generate', '--allow', 'X'])
    expect(await run(['customer', 'disallow', 'a@b.co', 'X', 'SKU'])).toEqual({
      status: 1,
      stdout: '',
      stderr: 'teslim customer disallow: a@b.co has no rule "SKU". Its rules: SKU-*, X.\n',
    })
    expect(await json(['customer', 'show', 'a@b.co'])).toMatchObject({ authority: ['SKU-*', 'X'] })
    expect((await run(['customer', 'disallow', 'a@b.co', 'a*b'])).status).toBe(2)
  })

  it.each([
    [[], 'supplier only'],
    [['--operator'], 'operator, cannot log in'],
    [['--operator', '--api'], 'operator, API customer'],
    [['--operator', '--read-only', '--api'], 'read-only operator, API customer'],
    [['--operator', '--support', '--api'], 'support, API customer'],
    [['--operator', '--support', '--payloads', '--api'], 'support with payloads, API customer'],
    [['--feed', '--api'], 'feed only, API customer'],
  ])('with the options %j are called %s', async (options, role) => {
    const { stdout } = await run(['customer', 'add', '--email', 'a@b.co', '--generate', ...options])
    expect(stdout.split('\n')[0]).toBe(`a@b.co  ${role}`)
  })

  it('are printed for people, without any password', async () => {
    const { stdout } = await run([...add, '--password-stdin'], `${PASSWORD}\n`)
    expect(stdout).toMatch(
      /^a@b\.co {2}API customer\n {2}id {10}[0-9a-f-]{36}\n {2}regions {5}DE TR\n {2}delivers {4}SKU-\*\n {2}added {7}\S+ \S+ UTC\n$/,
    )
    const { stdout: list } = await run(['customer', 'list'])
    expect(list.split('\n')[0]).toMatch(/^customer {2,}role {2,}regions {2,}id {2,}delivers$/)
    expect(stdout + list).not.toContain(PASSWORD)
  })

  it('get a generated password that is printed once', async () => {
    const { password } = await json([...add, '--generate'])
    expect(password).toMatch(/^[0-9A-Za-z]{24}$/)
    expect(await json(['customer', 'show', 'a@b.co'])).toEqual(view)
    expect((await json(['customer', 'set-password', 'a@b.co', '--generate'])).password).not.toBe(password)
  })

  it('that only deliver need no password and get none; one that may log in later is told how to get one', async () => {
    const added = await json(['customer', 'add', '--email', 'a@b.co'])
    expect(added).not.toHaveProperty('password')
    expect(added).toMatchObject({ regions: ['TR'], isApi: false })
    const { status, stdout, stderr } = await run(['customer', 'set', 'a@b.co', '--api', 'yes'])
    expect([status, stderr]).toEqual([
      0,
      `teslim customer set: a@b.co has no password yet and cannot log in: teslim customer set-password ${added.id} --generate\n`,
    ])
    expect(stdout).toMatch(/^a@b\.co {2}API customer without a password\n/)
    await run(['customer', 'set-password', 'a@b.co', '--generate'])
    expect((await run(['customer', 'show', 'a@b.co'])).stdout).toMatch(/^a@b\.co {2}API customer\n/)
    const api = await run(['customer', 'add', '--email', 'b@b.co', '--api'])
    expect([api.status, api.stderr]).toEqual([2, expect.stringContaining('a password is needed')])
    expect((await json(['customer', 'add', '--email', 'c@b.co', '--generate'])).password).toMatch(/^\w{24}$/)
  })

  it('with a short password are warned about on stderr, and JSON stays alone on stdout', async () => {
    const { status, stdout, stderr } = await run([...add, '--password-stdin', '--json'], 'tenletters')
    expect([status, stderr]).toEqual([
      0,
      'teslim customer add: The password has 10 characters; 15 or more are safer.\n',
    ])
    expect(JSON.parse(stdout)).toEqual(view)
  })

  it.each([
    [[...add, '--password-stdin'], 'short', 2, 'The password needs at least 8 characters.'],
    [
      [...add, '--password-stdin'],
      'password123',
      2,
      'The password is among the most used ones, with or without digits and signs at its end; choose another.',
    ],
    [[...add, '--password-stdin'], Buffer.from([0xff, 0xfe, 0x61]), 2, 'the password on stdin is not valid UTF-8'],
    [[...add, '--password-stdin', '--generate'], '', 2, '--password-stdin and --generate cannot be combined'],
    [['customer', 'show', 'x@y.z'], '', 1, 'There is no customer "x@y.z".'],
    [['customer', 'disable', 'no-id'], '', 1, 'There is no customer "no-id".'],
  ])('%j say what is wrong', async (args, stdin, expected, line) => {
    const { status, stdout, stderr } = await run(args, stdin)
    expect([status, stdout]).toEqual([expected, ''])
    expect(stderr).toContain(line)
    expect(await json(['customer', 'list'])).toEqual([])
  })

  it('cannot be added twice', async () => {
    await run([...add, '--generate'])
    const { status, stderr } = await run([...add, '--generate'])
    expect([status, stderr]).toEqual([1, 'teslim customer add: A customer a@b.co exists already.\n'])
  })
})

describe('API keys on the command line', () => {
  const view = {
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    customerId: expect.any(String),
    label: 'erp',
    state: 'live',
    createdAt: expect.stringMatching(/Z$/),
    expiresAt: null,
    expiresSoon: false,
    revokedAt: null,
    successorId: null,
    lastUsedAt: null,
    lastUsedFrom: null,
    networks: null,
    rateLimit: null,
  }
  const issue = ['key', 'issue', '--customer', 'a@b.co', '--label', 'erp']
  let prepared = ''
  beforeAll(async () => {
    const made = tempFolder()
    await runCommand([...add, '--generate'], { cwd: made })
    prepared = join(made, 'data/teslim.db')
  })
  beforeEach(() => copyFileSync(prepared, join(cwd, 'data/teslim.db')))

  it('are issued once, listed without the key, and revoked', async () => {
    const { key, ...issued } = await json([...issue, '--expires', '90d'])
    expect(key).toMatch(/^tsl_[0-9A-Za-z]{38}$/)
    expect(issued).toEqual({ ...view, expiresAt: expect.any(String) })
    expect(Date.parse(issued.expiresAt) - Date.parse(issued.createdAt)).toBe(90 * 86_400_000)
    const listed = await run(['key', 'list', '--customer', 'a@b.co', '--json'])
    expect(JSON.parse(listed.stdout)).toEqual([{ ...issued, customer: 'a@b.co' }])
    expect(listed.stdout + (await run(['key', 'list'])).stdout).not.toContain(key)
    const revoked = await json(['key', 'revoke', issued.id])
    expect(revoked).toEqual({ ...issued, state: 'revoked', revokedAt: expect.any(String) })
    expect(await json(['key', 'revoke', issued.id])).toEqual(revoked)
  })

  it('are printed for people with the next command', async () => {
    const { stdout } = await run(issue)
    expect(stdout).toMatch(
      /^tsl_\S{38}\n {2}shown once; valid until it is revoked; to revoke it: teslim key revoke \S{36}\n$/,
    )
    expect((await run(['key', 'list'])).stdout).toMatch(
      /^id +customer +label +state +expires \(UTC\) +last used \(UTC\) +last address +limits\n/,
    )
  })

  const NETWORKS = ['203.0.113.0/24', '2001:db8::/32']

  it('are issued, changed and rotated with limits', async () => {
    const limits = { networks: NETWORKS, rateLimit: 600 }
    const from = ['--from', '2001:DB8::/32, 203.0.113.0/24', '--from', '::ffff:203.0.113.0/120', '--rate', '600']
    const { key: _, ...issued } = await json([...issue, ...from])
    expect(issued).toEqual({ ...view, ...limits })
    const set = (...what: string[]) => json(['key', 'set', issued.id.slice(0, 30), ...what])
    expect(await set('--label', 'shop')).toEqual({ ...issued, label: 'shop' })
    expect(await set('--label', '', '--from', 'anywhere', '--rate', 'none')).toEqual({ ...view, label: '' })
    const changed = await set('--from', '::1', '--rate', '0', '--expires', '90d')
    expect(changed).toEqual({ ...view, label: '', networks: ['::1'], rateLimit: 0, expiresAt: expect.any(String) })
    expect(await set('--expires', 'never')).toEqual({ ...changed, expiresAt: null })
    const { key, replaces, ...next } = await json(['key', 'rotate', issued.id])
    expect(next).toMatchObject({ networks: ['::1'], rateLimit: 0 })
    const events: { action: string; details: object }[] = await json(['audit', 'list', '--action', 'key.'])
    expect(events.map(({ action, details }) => [action, { ...details, keyId: undefined }]).slice(0, -1)).toEqual([
      ['key.issue', { expiresAt: null, ...limits }],
      ['key.set', { label: 'changed' }],
      ['key.set', { label: 'changed', networks: 'anywhere', rateLimit: null }],
      ['key.set', { networks: ['::1'], rateLimit: 0, expiresAt: changed.expiresAt }],
      ['key.set', { expiresAt: null }],
    ])
  })

  it('are printed with their limits, in 80 columns', async () => {
    const many = Array.from({ length: 30 }, (_, index) => `2001:db8:1234:5678:${index + 1000}::/80`)
    const issued = await run([...issue, '--from', NETWORKS.join(), '--rate', '600'])
    expect(issued.stdout).toContain(
      'until it is revoked; only from 203.0.113.0/24, 2001:db8::/32; 600 deliveries a minute; to revoke it: ',
    )
    const [{ id }] = await json(['key', 'list'])
    expect((await run(['key', 'set', id, '--rate', '0'])).stdout).toBe(
      `${id} (erp): valid until it is revoked; only from 203.0.113.0/24, 2001:db8::/32; any number of deliveries a minute\n`,
    )
    await run([...issue, '--from', many.join()])
    await run(issue)
    const { stdout } = await runCommand(['key', 'list'], { cwd, columns: 80 })
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain(
      ' only from 203.0.113.0/24, 2001:db8::/32; any number of deliveries a minute ',
    )
    for (const network of many) expect(stdout).toContain(network)
    expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80)
    expect(stdout).not.toContain('\n\n')
  })

  it('of a disabled customer are listed as such', async () => {
    const { id } = await json(issue)
    await run(['customer', 'disable', 'a@b.co'])
    expect((await run(['key', 'list'])).stdout).toMatch(/ erp +customer disabled +never /)
    await run(['key', 'revoke', id])
    expect((await run(['key', 'list'])).stdout).toMatch(/ erp +revoked +never /)
  })

  it('are rotated: the new key is shown once; the old one works for a day, the overlap given, or no longer', async () => {
    const { key: oldKey, ...old } = await json([...issue, '--expires', '90d'])
    const { key, replaces, ...issued } = await json(['key', 'rotate', old.id])
    expect(key).toMatch(/^tsl_[0-9A-Za-z]{38}$/)
    expect(key).not.toBe(oldKey)
    expect(issued).toEqual({ ...view, expiresAt: expect.any(String) })
    expect(Date.parse(replaces.expiresAt) - Date.parse(issued.createdAt)).toBe(86_400_000)
    expect(replaces).toEqual({ id: old.id, state: 'live', expiresAt: expect.any(String) })
    expect(await json(['key', 'list'])).toEqual([
      { ...old, expiresAt: replaces.expiresAt, expiresSoon: true, successorId: issued.id, customer: 'a@b.co' },
      { ...issued, customer: 'a@b.co' },
    ])
    const { stdout } = await run(['key', 'list'])
    expect(stdout).toMatch(/ live, expires in 2\d hours /)
    expect(stdout).not.toContain(key)
    const third = await json(['key', 'rotate', issued.id, '--overlap', '2h', '--expires', '30d'])
    const since = (time: string) => Date.parse(time) - Date.parse(third.createdAt)
    expect([since(third.expiresAt), since(third.replaces.expiresAt)]).toEqual([30 * 86_400_000, 7_200_000])
    const { status, stdout: shown } = await run(['key', 'rotate', third.id, '--overlap', '0h'])
    expect(status).toBe(0)
    expect(shown).toMatch(
      /^tsl_\S{38}\n {2}shown once; valid until \S+Z; its id is \S{36}\n {2}the old key, \S{36}, no longer works\n$/,
    )
  })

  it('that were rotated or revoked are not rotated', async () => {
    const refuse = async (id: string, line: RegExp) => {
      const before = await json(['key', 'list'])
      const { status, stdout, stderr } = await run(['key', 'rotate', id])
      expect([status, stdout, stderr]).toEqual([1, '', expect.stringMatching(line)])
      expect(await json(['key', 'list'])).toEqual(before)
    }
    const { id } = await json(issue)
    const next = await json(['key', 'rotate', id])
    await refuse(id, new RegExp(`^teslim key rotate: API key ${id} was rotated already: ${next.id} took its place`))
    await json(['key', 'revoke', next.id])
    await refuse(next.id, /is revoked and cannot be rotated: issue a new one\.\n$/)
  })

  it.each([
    [['key', 'rotate', 'no-key'], 1, 'There is no API key "no-key".'],
    [['key', 'rotate', 'no-key', '--overlap', 'soon'], 2, '--overlap takes a time such as 24h, 30m or 0, not "soon"'],
    [['key', 'issue', '--customer', 'x@y.z'], 1, 'There is no customer "x@y.z".'],
    [[...issue, '--expires', 'soon'], 2, '--expires takes a time such as 90d, 24h or 30m, not "soon"'],
    [['key', 'issue', '--customer', 'a@b.co', '--label', 'a\nb'], 2, 'A label is at most 100 characters'],
    [[...issue, '--from', '10.0.0.1/8'], 2, '"10.0.0.1/8" names an address in a network: write 10.0.0.0/8'],
    [[...issue, '--from', 'anywhere,10.0.0.1'], 2, '"anywhere" is not a network'],
    [[...issue, '--rate', '1000001'], 2, '--rate takes a whole number from 0 to 1000000, or none, not "1000001"'],
    [['key', 'set', 'no-key'], 2, 'say what to change: --label, --expires, --from or --rate'],
    [['key', 'set', 'no-key', '--rate', '1'], 1, 'There is no API key "no-key".'],
    [['key', 'set', 'no-key', '--from', 'shop.example.com'], 2, '"shop.example.com" is not a network'],
    [['key', 'set', 'no-key', '--expires', 'ever'], 2, '--expires takes a time such as 90d, 24h or 30m, not "ever"'],
    [['key', 'revoke', 'no-key'], 1, 'There is no API key "no-key".'],
    [['key', 'list', '--customer', 'x@y.z'], 1, 'There is no customer "x@y.z".'],
  ])('%j say what is wrong', async (args, expected, line) => {
    const { status, stdout, stderr } = await run(args)
    expect([status, stdout]).toEqual([expected, ''])
    expect(stderr).toContain(line)
    expect(await json(['key', 'list'])).toEqual([])
  })
})

describe('a password on stdin', () => {
  const login = async (password: string): Promise<boolean> => {
    const { DatabaseSync } = await import('node:sqlite')
    const database = new DatabaseSync(join(cwd, 'data/teslim.db'))
    const row = database.prepare('SELECT password_hash FROM customer').get()
    database.close()
    return verify(String(row?.password_hash), password)
  }

  it.each([
    [' blanks count ', ' blanks count '],
    ['one newline goes\n', 'one newline goes'],
    ['one newline goes\r\n', 'one newline goes'],
    ['only one goes\n\n', 'only one goes\n'],
  ])('%j is stored as %j', async (stdin, password) => {
    await run([...add, '--password-stdin'], stdin)
    expect(await login(password)).toBe(true)
    await run(['customer', 'set-password', 'a@b.co', '--password-stdin'], `new ${stdin}`)
    expect(await login(`new ${password}`)).toBe(true)
  })

  it('is read by the process', async () => {
    expect(await runProcess([...add, '--password-stdin'], `${PASSWORD}\r\n`)).toMatchObject({ status: 0, stderr: '' })
    expect(await login(PASSWORD)).toBe(true)
  })

  it('is the one that --generate printed', async () => {
    expect(await login((await json([...add, '--generate', '--operator'])).password)).toBe(true)
    expect(await json(['customer', 'show', 'a@b.co'])).toMatchObject({ operator: true })
    expect(await login((await json(['customer', 'set-password', 'a@b.co', '--generate'])).password)).toBe(true)
  })

  it('is refused when it is longer than any password', async () => {
    const { status, stderr } = await runProcess([...add, '--password-stdin'], Buffer.alloc(10_000_000, 'x'))
    expect([status, stderr]).toEqual([2, expect.stringContaining('longer than 4096 bytes')])
  })
})

describe('help', () => {
  it('is not printed for --help after --', async () => {
    await run([...add, '--generate'])
    expect((await run(['customer', 'allow', 'a@b.co', '--', '--help'])).stdout).toContain('--help SKU-*')
  })

  it('is what a bare teslim prints, with status 2', async () => {
    const { status, stdout, stderr } = await runProcess([])
    expect([status, stdout]).toEqual([2, ''])
    expect(stderr).toContain('Usage: teslim COMMAND [OPTIONS]')
  })
})

describe('teslim config', () => {
  it('shows every setting with its source', async () => {
    writeFileSync(join(cwd, '.env'), 'TESLIM_TOKEN_TTL=60\n')
    const { stdout } = await run(['config', '--json'], '', { HOST: '0.0.0.0' })
    const settings = JSON.parse(stdout)
    expect(settings).toContainEqual(
      expect.objectContaining({ variable: 'TESLIM_TOKEN_TTL', value: 60, source: '.env' }),
    )
    expect(settings).toContainEqual(
      expect.objectContaining({ variable: 'HOST', value: '0.0.0.0', source: 'environment' }),
    )
    expect(settings).toContainEqual(expect.objectContaining({ variable: 'PORT', value: 3000, source: 'default' }))
    const { stdout: text } = await run(['config'])
    expect(text).toMatch(/^TESLIM_TOKEN_TTL +\.env +60$/m)
    expect(text).toMatch(/^TESLIM_SECRET +default +none$/m)
    const narrow = await runCommand(['config'], { cwd, columns: 80 })
    expect(narrow.stdout.split('\n').filter((line) => line.length > 80)).toEqual([])
  })
})
