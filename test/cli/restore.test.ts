import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, inject, it, onTestFinished } from 'vitest'
import { loadConfig } from '#src/config/load-config.ts'
import { systemRandom } from '#src/lib/random.ts'
import { createCursors, refuseCursorsAfter } from '#src/purchase/cursors.ts'
import { keepServersOff, openStore } from '#src/store/open-store.ts'
import { lockForServer } from '#src/store/sqlite/locks/server-lock.ts'
import type { Customer } from '#src/store/store.ts'
import { newDatabase } from '../support/postgres/postgres-server.ts'
import { runCommand } from '../support/processes/command.ts'
import { commandStage } from '../support/processes/command-stage.ts'
import { teslim } from '../support/processes/process.ts'
import { customer, delivery } from '../support/store/store-rows.ts'
import { storesOfRun } from '../support/store/stores.ts'
import { tempFolder } from '../support/temp-folder.ts'

const SECRET = 'a secret that is long enough to be one'
const EMAIL = 'a@b.co'

/** Made once and copied: most tests begin with a store of one customer, and with a backup of it. */
const prepared = prepare()

async function prepare() {
  const cwd = tempFolder()
  const env = { NODE_ENV: 'production' }
  const add = ['customer', 'add', '--email', EMAIL, '--api', '--allow', 'A', '--generate', '--json']
  const { stdout } = await runCommand(add, { cwd, env })
  await runCommand(['backup', 'b.db'], { cwd, env })
  return { cwd, id: JSON.parse(stdout).id as string }
}

/** A store with one customer, and a backup of it, b.db, if wanted. */
async function newStore(env: Record<string, string> = {}, { backup = false } = {}) {
  const { cwd: from, id } = await prepared
  const cwd = tempFolder()
  const store = join(cwd, 'data/teslim.db')
  mkdirSync(join(cwd, 'data'), { mode: 0o700 })
  copyFileSync(join(from, 'data/teslim.db'), store)
  if (backup) for (const name of ['b.db', 'b.db.sha256']) copyFileSync(join(from, name), join(cwd, name))
  const teslim = (args: readonly string[], more = env) => runCommand(args, { cwd, env: more })
  const json = async (...args: string[]) => {
    const { stdout, stderr } = await teslim([...args, '--json'])
    if (stdout === '') throw new Error(stderr)
    return JSON.parse(stdout)
  }
  const { withStore } = commandStage({}, cwd)
  const deliver = (...orders: string[]) =>
    withStore(async ({ deliveries }) => {
      for (const orderId of orders) await deliveries.deliver(delivery(id, { orderId }))
    })
  /** Adds customers at once: each command would hash a password. Returns their ids. */
  const addCustomers = (...wanted: Partial<Customer>[]) =>
    withStore(async ({ customers }) => {
      const made = wanted.map((more) => customer({ regions: [], authority: [], ...more }))
      for (const each of made) await customers.insert(each)
      return made.map((each) => each.id)
    })
  const orders = async () => {
    const { stdout } = await teslim(['delivery', 'export'])
    return stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line).OrderID as string)
  }
  return { cwd, store, teslim, json, withStore, deliver, addCustomers, orders, id }
}

/** All bytes of a folder and of those in it. */
const bytesIn = (folder: string) =>
  Object.fromEntries(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => [join(parentPath, name), readFileSync(join(parentPath, name), 'base64')]),
  )

it('a restored store is as it was, the replaced one is kept whole, and the audit log says who did it', async () => {
  const { cwd, store, teslim, json, deliver, orders } = await newStore({ TESLIM_SECRET: SECRET })
  await deliver('PO-1', 'PO-2')
  await json('signing-key', 'rotate')
  await json('backup', 'b.db')
  await deliver('PO-3')
  const { stdout, status } = await teslim(['restore', 'b.db', '--json'])
  expect(status).toBe(0)
  const { kept, lastReceiptId, lastReceivedAt, ...rest } = JSON.parse(stdout)
  expect(rest).toEqual({
    path: join(cwd, 'b.db'),
    restored: store,
    signingKeys: 1,
    secret: 'TESLIM_SECRET',
    digestCompared: true,
    hmacCompared: true,
    notCompared: null,
    deliveriesUndone: 1,
    undone: [],
    missingCustomers: [],
    missingKeys: [],
    actions: 0,
  })
  expect(lastReceiptId).toMatch(/^01a1fd40-/)
  expect(lastReceivedAt).toBe(new Date(1_763_726_400_123).toISOString())
  expect(await orders()).toEqual(['PO-1', 'PO-2'])
  expect(kept).toMatch(/data\/teslim\.db\.before-\d{8}T\d{6}\.\d{3}Z$/)
  const [event] = (await json('audit', 'list', '--action', 'store.')) as object[]
  expect(event).toMatchObject({
    action: 'store.restore',
    actor: expect.stringMatching(/^cli:/),
    details: { from: join(cwd, 'b.db'), deliveriesUndone: 1 },
  })
  // The kept store can be restored in turn. It has no HMAC.
  expect((await teslim(['restore', kept])).status).toBe(2)
  expect(await teslim(['restore', kept, '--unproved'])).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(
      / of 2025-11-21T12:00:00\.123Z\.\n(.*\n)*Undone: 0 deliveries, 1 action of operators\./,
    ),
  })
  expect(await orders()).toEqual(['PO-1', 'PO-2', 'PO-3'])
  const names = readdirSync(join(cwd, 'data')).filter((name) => /restoring/.test(name))
  expect(names).toEqual([])
})

it('everything that works again after it was ended is named, with the command that ends it again', async () => {
  const { cwd, teslim, json, deliver, addCustomers } = await newStore()
  await deliver('PO-1')
  const add = (email: string) => json('customer', 'add', '--email', email, '--api', '--generate')
  const issue = async (label: string) =>
    (await json('key', 'issue', '--customer', EMAIL, '--label', label)).id as string
  const emails = ['off@b.co', 'pass@b.co', 'token@b.co', 'rules@b.co']
  await addCustomers(...emails.map((email) => ({ email, authority: ['X-*'] })))
  const revoked = await issue('revoked')
  const rotated = await issue('rotated')
  const alive = await issue('alive')
  const { kid } = await json('signing-key', 'rotate')
  await json('backup', 'b.db')

  await json('key', 'revoke', revoked)
  await json('key', 'rotate', rotated, '--overlap', '0s')
  await json('customer', 'disable', 'off@b.co')
  await json('customer', 'set-password', 'pass@b.co', '--generate')
  await json('token', 'revoke', '--customer', 'token@b.co')
  await json('customer', 'disallow', 'rules@b.co', 'X-*')
  await json('signing-key', 'rotate', '--at-once')
  await add('late@b.co')
  const late = await issue('late')
  await add('brief@b.co')
  await json('customer', 'remove', 'brief@b.co')

  const { undone, missingCustomers, missingKeys, actions } = await json('restore', 'b.db')
  expect(undone).toEqual(
    [
      [`API key ${revoked} (revoked) of ${EMAIL}`, 'was revoked, and works again', `teslim key revoke ${revoked}`],
      [`API key ${rotated} (rotated) of ${EMAIL}`, 'was replaced, and works again', `teslim key revoke ${rotated}`],
      ['customer off@b.co', 'was disabled, and is enabled again', 'teslim customer disable off@b.co'],
      ['customer pass@b.co', 'has its former password again', 'teslim customer set-password pass@b.co --generate'],
      ['customer token@b.co', 'has revoked tokens that are valid again', 'teslim token revoke --customer token@b.co'],
      ['customer rules@b.co', 'may deliver X-* again', "teslim customer disallow rules@b.co 'X-*'"],
      [`signing key ${kid}`, 'was replaced, and its tokens are valid again', 'teslim signing-key rotate --at-once'],
    ].map(([what, happened, command]) => ({ what, happened, command })),
  )
  expect(missingCustomers).toEqual(['late@b.co'])
  expect(missingKeys).toContain(late)
  expect(missingKeys).not.toContain(alive)
  expect(actions).toBe(11)
  const { stdout } = await teslim(['restore', 'b.db'])
  expect(stdout).toContain('Nothing that was revoked, disabled or changed works again.')
  expect(stdout).toContain(`The replaced store is kept as ${join(cwd, 'data/teslim.db.before-')}`)
})

it('removed, erased and changed customers that are back are named, with the command that ends it again', async () => {
  const { teslim, json, deliver, addCustomers, orders } = await newStore()
  const [, , , half = ''] = await addCustomers(
    { email: 'gone@b.co' },
    { email: 'role@b.co', scope: 'operator' },
    { email: 'moved@b.co', regions: ['TR', 'DE'] },
    { email: 'half@b.co' },
  )
  await json('key', 'issue', '--customer', EMAIL)
  await json('customer', 'remove', 'half@b.co')
  await deliver('PO-1')
  await json('backup', 'b.db')
  await json('customer', 'remove', EMAIL, '--erase')
  await json('customer', 'remove', half, '--erase')
  await json('customer', 'remove', 'gone@b.co')
  await json('customer', 'set', 'role@b.co', '--api', 'no', '--operator', 'no')
  await json('customer', 'set', 'moved@b.co', '--region', 'TR', '--email', 'new@b.co')

  const { undone } = (await json('restore', 'b.db')) as { undone: { command: string }[] }
  expect(undone).toEqual(
    [
      [`customer ${EMAIL}`, 'was removed and erased, and is there again', `teslim customer remove ${EMAIL} --erase`],
      ['customer gone@b.co', 'was removed, and is there again', 'teslim customer remove gone@b.co'],
      ['customer role@b.co', 'may log in to the API again', 'teslim customer set role@b.co --api no'],
      ['customer role@b.co', 'has the rights of "operator" again', 'teslim customer set role@b.co --operator no'],
      ['customer moved@b.co', 'may log in to DE again', 'teslim customer set moved@b.co --region TR'],
      [
        'customer moved@b.co',
        'has this address again instead of new@b.co',
        'teslim customer set moved@b.co --email new@b.co',
      ],
      [`customer ${half}`, 'was erased, and has its payloads again', `teslim customer remove ${half} --erase`],
    ].map(([what, happened, command]) => ({ what, happened, command })),
  )
  expect(await orders()).toEqual(['PO-1'])
  // An erasure waits for deliveries under way.
  for (const { command } of undone.filter((each) => !each.command.endsWith('--erase')))
    expect(await teslim(command.split(' ').slice(1))).toMatchObject({ status: 0, stderr: '' })
})

it('limits that are wider again are named, with the command that sets them again', async () => {
  const { json, teslim, store, deliver, addCustomers } = await newStore()
  await deliver('PO-1')
  await addCustomers(
    { email: 'reader@b.co', scope: 'operator' },
    { email: 'same@b.co', scope: 'operator:read' },
    { email: 'plain@b.co' },
  )
  const issue = async (...limits: string[]) =>
    (await json('key', 'issue', '--customer', EMAIL, '--label', 'l', ...limits)).id as string
  const free = await issue()
  const wide = await issue('--from', '10.0.0.0/8,203.0.113.0/24,::1')
  const fast = await issue('--rate', '600')
  const any = await issue('--rate', '0')
  const long = await issue('--expires', '90d')
  const ended = await issue()
  const narrow = await issue('--from', '10.1.0.0/16', '--rate', '5', '--expires', '9d')
  const { expiresAt } = (await json('key', 'list')).find(({ id }: { id: string }) => id === long)
  await json('backup', 'b.db')

  await json('key', 'set', free, '--from', '203.0.113.0/24,::1', '--rate', '10', '--expires', '3d', '--label', 'x')
  await json('key', 'set', wide, '--from', '10.1.0.0/16,203.0.113.0/24')
  await json('key', 'set', fast, '--rate', '60')
  await json('key', 'set', any, '--rate', 'none')
  await json('key', 'set', long, '--expires', '30d')
  // As "--expires 1s" and a second later.
  const database = new DatabaseSync(store)
  database.prepare('UPDATE api_key SET expires_at = 1 WHERE id = ?').run(ended)
  database.close()
  await json('key', 'set', narrow, '--from', '10.0.0.0/8', '--rate', '6', '--expires', 'never')
  await json('customer', 'set', 'reader@b.co', '--read-only', 'yes')
  // A right that the backup lacks is no right that comes back.
  await json('customer', 'set', 'plain@b.co', '--operator', 'yes', '--support', 'yes')

  const { undone } = (await json('restore', 'b.db')) as { undone: { command: string; happened: string }[] }
  const commands = undone.map(({ command }) => command)
  const days = (command = '') => Math.ceil(Number(/--expires (\d+)m$/.exec(command)?.[1]) / 1440)
  expect([days(commands[2]), days(commands[6])]).toEqual([3, 30])
  expect(undone.map(({ happened }, index) => [happened, commands[index]?.replace(/ \d+m$/, ' ...')])).toEqual([
    ['may be used from anywhere again', `teslim key set ${free} --from 203.0.113.0/24,::1`],
    ['has no limit of its own again', `teslim key set ${free} --rate 10`],
    ['is valid until it is revoked again', `teslim key set ${free} --expires ...`],
    ['may be used from 10.0.0.0/8, ::1 again', `teslim key set ${wide} --from 10.1.0.0/16,203.0.113.0/24`],
    ['may make 600 deliveries a minute again', `teslim key set ${fast} --rate 60`],
    ['may make any number of deliveries a minute again', `teslim key set ${any} --rate none`],
    [`is valid until ${expiresAt} again`, `teslim key set ${long} --expires ...`],
    ['had expired, and works again', `teslim key revoke ${ended}`],
    ['has the rights of "operator" again', 'teslim customer set reader@b.co --read-only yes'],
    ['has revoked tokens that are valid again', 'teslim token revoke --customer plain@b.co'],
  ])
  for (const command of commands)
    expect(await teslim(command.split(' ').slice(1))).toMatchObject({ status: 0, stderr: '' })
  expect(await json('key', 'list')).toMatchObject([
    { id: free, networks: ['203.0.113.0/24', '::1'], rateLimit: 10 },
    { id: wide, networks: ['10.1.0.0/16', '203.0.113.0/24'] },
    { id: fast, rateLimit: 60 },
    { id: any, rateLimit: null },
    { id: long },
    { id: ended, state: 'revoked' },
    { id: narrow, networks: ['10.1.0.0/16'], rateLimit: 5 },
  ])
})

describe('a restore onto a store that tells nothing advises nothing:', () => {
  const unknown = { deliveriesUndone: null, actions: null, undone: [], missingCustomers: [], missingKeys: [] }
  /** A backup with all that a restore could name, one erased customer included. */
  const made = makeBackup()
  async function makeBackup() {
    const stage = await newStore()
    await stage.addCustomers({ email: 'gone@b.co' })
    await stage.json('key', 'issue', '--customer', EMAIL)
    await stage.json('signing-key', 'rotate')
    await stage.json('webhook', 'add', '--url', 'https://a.example')
    await stage.json('customer', 'remove', 'gone@b.co', '--erase')
    await stage.deliver('PO-1')
    await stage.json('backup', 'b.db')
    return stage.cwd
  }
  /** That backup, and an empty folder instead of the store. */
  async function lostDisk() {
    const stage = await newStore()
    rmSync(join(stage.cwd, 'data'), { recursive: true })
    for (const name of ['b.db', 'b.db.sha256']) copyFileSync(join(await made, name), join(stage.cwd, name))
    return stage
  }
  const add = (email: string) => ['customer', 'add', '--email', email, '--generate']

  it.each([
    ['nothing', [], 'there was no store before'],
    [
      'a store without customers',
      [['migrate']],
      'the replaced store had no customers, so nothing can be concluded from it',
    ],
    [
      'a store without deliveries',
      [add('new@b.co')],
      'the replaced store had no deliveries, so nothing can be concluded from it',
    ],
  ])('%s', async (_, before, notCompared) => {
    const { teslim, json, orders } = await lostDisk()
    for (const args of before) expect(await teslim(args)).toMatchObject({ status: 0 })
    expect(await json('restore', 'b.db')).toMatchObject({ ...unknown, notCompared, endpointsPaused: 1 })
    expect(await orders()).toEqual(['PO-1'])
    const [event] = await json('audit', 'list', '--action', 'store.')
    expect(event).toMatchObject({ action: 'store.restore', details: { deliveriesUndone: null } })

    const again = await lostDisk()
    for (const args of before) await again.teslim(args)
    const { status, stdout, stderr } = await again.teslim(['restore', 'b.db'])
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout).toMatch(new RegExp(`^${again.store} is restored from `))
    expect(stdout).toContain(`What was undone is not known: ${notCompared}.\n`)
    const advice = stdout
      .split('\n')
      .filter((line) => /Undone|no longer there|teslim (?!webhook resume)|removed:/.test(line))
    expect(advice).toEqual([])
  })

  it('only one that has both is compared', async () => {
    const { teslim, json, withStore } = await lostDisk()
    const id = JSON.parse((await teslim([...add('new@b.co'), '--json'])).stdout).id as string
    await withStore(({ deliveries }) => deliveries.deliver(delivery(id)))
    const { notCompared, deliveriesUndone, undone, missingCustomers } = await json('restore', 'b.db')
    expect({ notCompared, deliveriesUndone, missingCustomers }).toEqual({
      notCompared: null,
      deliveriesUndone: 0,
      missingCustomers: ['new@b.co'],
    })
    const commands = (undone as { command: string }[]).map(({ command }) => command)
    expect(commands).toContain(`teslim customer disable ${EMAIL}`)
    expect(commands.filter((command) => command.includes('removed:'))).toEqual([])
  })
})

it('a customer that is removed in the restored store is not named, also where the replaced store is the older one', async () => {
  const { teslim, json, deliver, addCustomers } = await newStore()
  await addCustomers({ email: 'gone@b.co' })
  await deliver('PO-1')
  await json('backup', 'older.db')
  await json('customer', 'remove', 'gone@b.co')
  await json('backup', 'newer.db')
  await json('restore', 'older.db')
  const { stdout } = await teslim(['restore', 'newer.db'])
  expect(stdout).toContain('Nothing that was revoked, disabled or changed works again.')
  expect(stdout).not.toContain('removed:')
})

describe('a backup that cannot be trusted is refused, and nothing is changed:', () => {
  const rewrite = (path: string, change: (bytes: Buffer) => unknown): void => {
    const bytes = readFileSync(path)
    change(bytes)
    writeFileSync(path, bytes)
  }
  const execute = (path: string, sql: string): void => {
    const database = new DatabaseSync(path)
    database.exec(sql)
    database.close()
  }
  const newFile = (path: string, sql: string): void => {
    rmSync(path)
    execute(path, sql)
  }
  const shared = newStore({}, { backup: true })

  it.each<[string, boolean, (path: string) => void, RegExp]>([
    ['truncated', true, (path) => truncateSync(path, 40_000), /SHA-256/],
    ['tampered with', true, (path) => rewrite(path, (bytes) => bytes.write('x', bytes.indexOf(EMAIL))), /SHA-256/],
    [
      'beside a file without a SHA-256',
      true,
      (path) => writeFileSync(`${path}.sha256`, 'hello'),
      /does not begin with a SHA/,
    ],
    ['truncated, without a SHA-256', false, (path) => truncateSync(path, 40_000), /malformed/],
    ['truncated to a few bytes', false, (path) => truncateSync(path, 50), /malformed/],
    [
      'tampered with in an index, without a SHA-256',
      false,
      (path) => rewrite(path, (bytes) => bytes.write('x', bytes.lastIndexOf(EMAIL))),
      /is damaged: .*index/,
    ],
    ['empty', false, (path) => truncateSync(path, 0), /is empty/],
    ['not there', false, (path) => rmSync(path), /there is no file/],
    ['a text', false, (path) => writeFileSync(path, 'hello '.repeat(999)), /not a database/],
    ['a store with its log', false, (path) => writeFileSync(`${path}-wal`, 'x'), /no backup but a store.*backup OTHER/],
    [
      'of another application',
      false,
      (path) => newFile(path, 'CREATE TABLE notes (a)'),
      /belongs to another application: it has the tables notes/,
    ],
    [
      'without a store',
      false,
      (path) => newFile(path, 'CREATE TABLE a (b); DROP TABLE a'),
      /SQLite file without a store/,
    ],
    [
      'of a newer version',
      false,
      (path) => execute(path, `INSERT INTO schema_migration VALUES (99, 'later', '', 0, 99, '9.0.0')`),
      /is at schema 99.*run teslim 9\.0\.0 or a later one/,
    ],
  ])('one that is %s', async (name, withDigest, spoil, message) => {
    const { cwd, teslim } = await shared
    const file = `${name}.db`
    copyFileSync(join(cwd, 'b.db'), join(cwd, file))
    if (withDigest) copyFileSync(join(cwd, 'b.db.sha256'), join(cwd, `${file}.sha256`))
    spoil(join(cwd, file))
    rmSync(join(cwd, 'data/teslim.db-server'), { force: true })
    const before = bytesIn(cwd)
    for (const check of [['--check'], []]) {
      const { status, stdout, stderr } = await teslim(['restore', file, ...check])
      expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
      expect(stderr).toMatch(message)
      expect(stderr.trim().split('\n')).toHaveLength(1)
      expect(stderr).not.toContain('restoring')
    }
    rmSync(join(cwd, 'data/teslim.db-server'), { force: true })
    expect(bytesIn(cwd)).toEqual(before)
  })

  it.each([
    [
      'another',
      'a wrong secret, also long enough',
      /HMAC .* is not that of the backup under TESLIM_SECRET or .* it was made under another secret/,
    ],
    ['no', '', /neither TESLIM_SECRET nor TESLIM_SECRET_FILE is set/],
  ])('one whose signing keys are under a secret, with %s secret', async (_, secret, message) => {
    const { store, teslim, json, deliver, orders } = await newStore({ TESLIM_SECRET: SECRET })
    await json('signing-key', 'rotate')
    await json('backup', 'b.db')
    await deliver('PO-1')
    const env: Record<string, string> = secret === '' ? {} : { TESLIM_SECRET: secret }
    for (const check of [['--check'], []]) {
      const { status, stderr } = await teslim(['restore', 'b.db', ...check], env)
      expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringMatching(message) })
    }
    expect(await orders()).toEqual(['PO-1'])
    expect(existsSync(`${store}.restoring`)).toBe(false)
  })
})

it('--check changes nothing and says which secret is needed', async () => {
  const { cwd, json, teslim } = await newStore({ TESLIM_SECRET: SECRET })
  await json('signing-key', 'rotate')
  await json('backup', 'b.db')
  const before = bytesIn(cwd)
  const { status, stdout } = await teslim(['restore', 'b.db', '--check'])
  expect(status).toBe(0)
  expect(stdout).toContain('it is undamaged, and its SHA-256 matches')
  expect(stdout).toContain('Its signing keys (1) are encrypted under TESLIM_SECRET, which opens them')
  expect(bytesIn(cwd)).toEqual(before)
})

it('nothing is restored onto a running server, itself, or the file of another application', async () => {
  const { cwd, store, teslim } = await newStore({}, { backup: true })
  const lock = lockForServer(store, 0)
  expect(await teslim(['restore', 'b.db'])).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/is in use by process \d+ on /),
  })
  lock.release()
  expect(await teslim(['restore', 'data/teslim.db'])).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/is the store itself|no backup but a store/),
  })
  const foreign = new DatabaseSync(join(cwd, 'foreign.db'))
  foreign.exec('CREATE TABLE notes (a)')
  foreign.close()
  const before = readFileSync(join(cwd, 'foreign.db'))
  expect(await teslim(['restore', 'b.db'], { DATABASE_URL: 'sqlite:foreign.db' })).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('belongs to another application'),
  })
  expect(readFileSync(join(cwd, 'foreign.db'))).toEqual(before)
})

it('a backup under the name of the copy that a restore makes is refused, and stays', async () => {
  const { cwd, teslim } = await newStore({}, { backup: true })
  renameSync(join(cwd, 'b.db'), join(cwd, 'data/teslim.db.restoring'))
  symlinkSync('data/teslim.db.restoring', join(cwd, 'b.db'))
  for (const path of ['data/teslim.db.restoring', 'b.db'])
    expect(await teslim(['restore', path])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('give it another name first'),
    })
  expect(existsSync(join(cwd, 'b.db'))).toBe(true)
})

it('a link whose target is missing stays, and nothing is restored beside it', async () => {
  const { cwd, teslim } = await newStore({}, { backup: true })
  symlinkSync('disk/teslim.db', join(cwd, 'link.db'))
  mkdirSync(join(cwd, 'disk'))
  const { status, stderr } = await teslim(['restore', 'b.db'], { DATABASE_URL: 'sqlite:link.db' })
  expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringContaining('link whose target is missing') })
  expect(readdirSync(cwd).toSorted()).toEqual(['b.db', 'b.db.sha256', 'data', 'disk', 'link.db'])
})

it('an interrupted restore changes and leaves nothing, and what a killed one left goes when a server starts', async () => {
  const { cwd, store, deliver, orders } = await newStore({}, { backup: true })
  await deliver('PO-1')
  const interrupted = await runCommand(['restore', 'b.db'], { cwd, env: {}, stop: AbortSignal.abort() })
  expect(interrupted).toEqual({
    status: 1,
    stdout: '',
    stderr: 'teslim restore: Nothing was changed: it was interrupted.\n',
  })
  expect(await orders()).toEqual(['PO-1'])
  expect(existsSync(`${store}.restoring`)).toBe(false)
  for (const end of ['', '-journal']) writeFileSync(`${store}.restoring${end}`, 'half a copy')
  const { config } = loadConfig({ DATABASE_URL: `sqlite:${store}` })
  await (await openStore(config, 0, { toServe: true })).store.close()
  expect(readdirSync(join(cwd, 'data')).filter((name) => name.includes('restoring'))).toEqual([])
})

it('the commands that it prints are what they say when they are pasted into a shell, whatever others called themselves', async () => {
  const { cwd, json, teslim, deliver, addCustomers } = await newStore()
  await deliver('PO-1')
  const names = ['x$(>pwned)@b.co', '`>pwned`@b.co', "it's;>pwned;'@b.co", '--erase@b.co']
  const rules = ["';touch pwned;'", '$(touch pwned)', '-rf', '!!', 'B']
  const ids = await addCustomers(...names.map((email) => ({ email, authority: rules })))
  await json('backup', 'b.db')
  for (const id of ids) {
    await json('customer', 'disable', id)
    await teslim(['customer', 'disallow', id, '--', ...rules])
  }
  const { undone } = (await json('restore', 'b.db')) as { undone: { command: string }[] }
  const commands = undone.map(({ command }) => command)
  // The kept store is the one in which all of them are shut out.
  const [kept = ''] = readdirSync(join(cwd, 'data')).filter((name) => name.includes('before'))
  await json('restore', `data/${kept}`)
  const { stdout } = await runCommand(['restore', 'b.db'], { cwd, env: {}, columns: 40 })
  expect(stdout.split('\n').filter((line) => line.startsWith('  teslim '))).toEqual(commands.map((each) => `  ${each}`))

  const typed = execFileSync('sh', ['-c', `teslim() { printf '%s\\0' "$@"; echo; }\n${commands.join('\n')}`], { cwd })
  expect(existsSync(join(cwd, 'pwned'))).toBe(false)
  const words = `${typed}`.split('\0\n').map((command) => command.split('\0'))
  const called = [...names.slice(0, 3), ids[3]]
  expect(words.slice(0, -1)).toEqual(
    called.flatMap((name) => [
      ['customer', 'disable', name],
      ['customer', 'disallow', name, '--', ...rules.toSorted()],
    ]),
  )
  for (const command of words.slice(0, -1)) expect(await teslim(command)).toMatchObject({ status: 0, stderr: '' })
})

const isRoot = process.getuid?.() === 0
if (!isRoot) console.log('what root must not do is not tested: it needs root')

describe.runIf(isRoot)('root in a folder in which another user could put a link', () => {
  it.each([
    ['restore', ['restore', 'b.db']],
    ['backup into it', ['backup', 'data/b.db']],
    ['backup of a store in it', ['backup', 'c.db']],
    ['deliver, that would list what is refused', ['deliver', 'data/d.ndjson']],
    ['restore --recovered', ['restore', '--recovered']],
    ['serve, that would make a store', ['serve']],
  ])('makes nothing there and names the command to use: %s', async (_, args) => {
    const { cwd } = await newStore({}, { backup: true })
    writeFileSync(join(cwd, 'data/d.ndjson'), '{}\n')
    const before = readdirSync(join(cwd, 'data'))
    chownSync(join(cwd, 'data'), 65_534, 65_534)
    const env = {
      TESLIM_API_KEY: 'tsl_x',
      ...(args[0] === 'serve' && { PORT: '0', DATABASE_URL: 'sqlite:data/new.db' }),
    }
    const { status, stdout, stderr } = await (args[0] === 'serve' ? teslim : runCommand)(args, { cwd, env })
    expect([status, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(
      new RegExp(`^teslim \\w+: Nothing was done: ${cwd}/data belongs to \\S+, and root would follow a link`),
    )
    expect(stderr).toMatch(/ sudo -u (nobody|'#65534') teslim /)
    expect(stderr.trimEnd().endsWith(` teslim ${args.join(' ')}`)).toBe(true)
    expect(readdirSync(join(cwd, 'data'))).toEqual(before)
    expect(existsSync(join(cwd, 'c.db'))).toBe(false)
  })

  it.each([
    ['others may write to', 0o757, false],
    ['a group may write to', 0o775, false],
    ['others may add to, but not replace what root made', 0o1777, true],
    ["only root's group may write to", 0o770, true],
  ])('a folder that %s', async (_, mode, works) => {
    const { cwd, teslim } = await newStore({}, { backup: true })
    chownSync(join(cwd, 'data'), 0, mode === 0o770 ? 0 : 65_534)
    chmodSync(join(cwd, 'data'), mode)
    const { status, stderr } = await teslim(['backup', 'data/c.db'])
    expect([status, stderr.includes('chmod go-w')]).toEqual(works ? [0, false] : [2, true])
  })

  it('overwrites nothing, while that user puts links in the place of every file that a restore makes', async () => {
    const { cwd, store } = await newStore({}, { backup: true })
    const victim = join(cwd, 'victim')
    writeFileSync(victim, 'of root\n', { mode: 0o600 })
    chownSync(join(cwd, 'data'), 65_534, 65_534)
    const racer = spawn(process.execPath, ['-e', PLANT, store, victim], {
      uid: 65_534,
      gid: 65_534,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    onTestFinished(() => void racer.kill('SIGKILL'))
    await once(racer.stdout, 'data')
    for (let times = 0; times < 5; times++)
      expect((await runCommand(['restore', 'b.db'], { cwd, env: {} })).status).toBe(2)
    expect(readFileSync(victim, 'utf8')).toBe('of root\n')
  })
})

/** Waits for a file of a restore and puts a link in its place. */
const PLANT = `
  const { renameSync, symlinkSync, existsSync, rmSync } = require('node:fs')
  const [, store, victim] = process.argv
  console.log('ready')
  for (;;)
    for (const end of ['.restoring', '-server', '-backup'])
      if (existsSync(store + end)) {
        rmSync(store + '.link', { force: true })
        symlinkSync(victim, store + '.link')
        renameSync(store + '.link', store + end)
      }`

it('without a SHA-256 beside the backup, a restore says that there was none', async () => {
  const { cwd, teslim } = await newStore({}, { backup: true })
  rmSync(join(cwd, 'b.db.sha256'))
  expect((await teslim(['restore', 'b.db'])).stdout).toContain('There was no SHA-256 beside it to compare with.')
})

it('a program that has the store open is named, and nothing is changed', async () => {
  const { store, teslim, deliver, orders } = await newStore({}, { backup: true })
  await deliver('PO-1')
  // In this process, which SQLite does not tell apart from another one here.
  const reader = new DatabaseSync(store, { readOnly: true })
  reader.prepare('SELECT count(*) FROM delivery').get()
  const { status, stderr } = await teslim(['restore', 'b.db'])
  reader.close()
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: expect.stringContaining('End that first; nothing was changed.'),
  })
  expect(await orders()).toEqual(['PO-1'])
})

it.each([
  ['damaged at its beginning', (path: string) => writeFileSync(path, 'x'.repeat(9000))],
  ['empty', (path: string) => truncateSync(path, 0)],
  ['missing', (path: string) => rmSync(path)],
])('the log of a store that is %s is kept with it and never meets the restored one', async (_, spoil) => {
  const { store, json, teslim, deliver, orders } = await newStore()
  await deliver('PO-1')
  await json('backup', 'b.db')
  const copy = `${store}.copy`
  // A log with frames of a later delivery, as a killed server leaves it.
  const writer = new DatabaseSync(store)
  writer.exec(`PRAGMA journal_mode = WAL; UPDATE delivery SET status = 3, payload = CAST('of the log' AS BLOB)`)
  copyFileSync(`${store}-wal`, copy)
  writer.close()
  copyFileSync(copy, `${store}-wal`)
  const frames = readFileSync(copy)
  spoil(store)
  const { status, stdout } = await teslim(['restore', 'b.db', '--json'])
  expect(status).toBe(0)
  const { kept } = JSON.parse(stdout)
  expect(existsSync(`${store}-wal`)).toBe(false)
  expect(readFileSync(`${kept}-wal`)).toEqual(frames)
  expect(await orders()).toEqual(['PO-1'])
  const { stdout: exported } = await teslim(['delivery', 'export'])
  expect(exported).not.toContain('of the log')
})

it.each([
  [['restore'], 'PATH is missing'],
  [['restore', 'b.db', '--recovered'], '--recovered stands alone'],
  [['restore', '--check', '--recovered'], '--recovered stands alone'],
])('teslim %j is misuse', async (args, message) => {
  const { status, stderr } = await runCommand(args, { cwd: tempFolder() })
  expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringContaining(message) })
})

it('on PostgreSQL a file is not restored, and says what to do', async () => {
  const env = { DATABASE_URL: await newDatabase(inject('postgresUrl')) }
  const { status, stderr } = await runCommand(['restore', 'b.db'], { cwd: tempFolder(), env })
  expect({ status, stderr }).toEqual({
    status: 2,
    stderr: expect.stringContaining('then run teslim restore --recovered'),
  })
})

it.each(storesOfRun())(
  'after a recovery by other means, every cursor made before is refused; not while a server works on the store (%s)',
  async (kind, emptyStore) => {
    const env = await emptyStore()
    const { config } = loadConfig(env)
    const server = await openStore(config, 0, { toServe: true })
    const older = await createCursors(server.store.secrets, systemRandom).seal(['feed'], 2)
    await refuseCursorsAfter(5, server.store.secrets, 7)
    const cursor = await createCursors(server.store.secrets, systemRandom).seal(['feed'], 3)
    expect(await createCursors(server.store.secrets, systemRandom).open(['feed'], older)).toBe(2)
    const recovered = () => runCommand(['restore', '--recovered'], { cwd: tempFolder(), env })
    expect(await recovered()).toMatchObject({ status: 1, stderr: expect.stringMatching(/is in use/) })
    await server.store.close()

    expect(await recovered()).toMatchObject({
      status: 0,
      stderr: '',
      stdout: expect.stringContaining('Every cursor made before is refused'),
    })
    const lock = keepServersOff(config, 0, 'teslim restore')
    if (kind === 'sqlite')
      await expect(openStore(config, 0, { toServe: true })).rejects.toThrow(/in use by teslim restore, process/)
    lock.release()
    const { store } = await openStore(config, 0)
    const cursors = createCursors(store.secrets, systemRandom)
    for (const before of [cursor, older])
      await expect(cursors.open(['feed'], before)).rejects.toMatchObject({ code: 'CURSOR_INVALID' })
    expect(await cursors.open(['feed'], await cursors.seal(['feed'], 3))).toBe(3)
    const events = await store.audit.list({ action: 'store.restore', limit: 9 })
    await store.close()
    expect(events.map(({ details }) => details)).toEqual([{ recovered: true }])
  },
)
