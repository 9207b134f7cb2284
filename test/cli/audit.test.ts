import { readdirSync, readFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { eventCells } from '#src/cli/audit.ts'
import { cliActor } from '#src/cli/input/actor.ts'
import { table } from '#src/cli/output/table.ts'
import { utcTimes } from '#src/cli/output/times.ts'
import { message } from '#src/lib/messages/message.ts'
import { runCommand } from '../support/processes/command.ts'
import { commandStage, printedBy } from '../support/processes/command-stage.ts'
import { createStore } from '../support/store/create-store.ts'
import { auditEvent } from '../support/store/store-rows.ts'
import { tempFolder } from '../support/temp-folder.ts'

const PASSWORD = 'correct horse battery staple'
let cwd = ''
beforeEach(async () => {
  cwd = tempFolder()
  await createStore(cwd)
})

const run = (args: string[], stdin = '', env = {}) => runCommand(args, { cwd, stdin, env })
const json = async (args: string[], stdin = '') => JSON.parse(printedBy(await run([...args, '--json'], stdin)))
const add = ['customer', 'add', '--email', 'a@b.co', '--api', '--allow', 'SKU-*']
const self = `cli:${userInfo().username}`

describe('every administrative command', () => {
  it('is in the audit log, with actor, action and customer, and without any secret', async () => {
    const { id } = await json([...add, '--password-stdin'], PASSWORD)
    const { password } = await json(['customer', 'set-password', id, '--generate'])
    await json(['customer', 'disable', 'a@b.co'])
    await json(['customer', 'enable', 'a@b.co'])
    await json(['customer', 'allow', 'a@b.co', 'X', 'Y'])
    await json(['customer', 'disallow', 'a@b.co', 'Y'])
    const first = await json(['key', 'issue', '--customer', 'a@b.co', '--label', 'erp'])
    const second = await json(['key', 'rotate', first.id])
    await json(['key', 'revoke', second.id])

    await json(['token', 'revoke', '--customer', 'a@b.co'])
    const { kid } = await json(['signing-key', 'rotate'])
    await run(['signing-key', 'rewrap'], '', { TESLIM_SECRET: PASSWORD })

    const events = await json(['audit', 'list'])
    const act = (action: string, details = {}) => ({
      at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      actor: self,
      action,
      customerId: id,
      address: null,
      requestId: null,
      refusalId: null,
      orderId: null,
      keyId: null,
      details,
    })
    expect(events).toEqual([
      act('customer.add', { isApi: true, scope: 'customer', regions: ['TR'], authority: ['SKU-*'] }),
      act('customer.set-password'),
      act('customer.disable'),
      act('customer.enable'),
      act('customer.allow', { rules: ['X', 'Y'] }),
      act('customer.disallow', { rules: ['Y'] }),
      act('key.issue', { keyId: first.id, expiresAt: null }),
      act('key.rotate', {
        keyId: first.id,
        endsAt: second.replaces.expiresAt,
        newKeyId: second.id,
        expiresAt: null,
      }),
      act('key.revoke', { keyId: second.id }),
      act('token.revoke'),
      { ...act('signing-key.rotate', { kid, atOnce: false }), customerId: null },
      { ...act('signing-key.rewrap', { rewrapped: 1, kept: 0 }), customerId: null },
    ])
    const files = readdirSync(join(cwd, 'data')).map((file) => readFileSync(join(cwd, 'data', file), 'latin1'))
    expect(files.join()).toContain('customer.set-password')
    for (const secret of [PASSWORD, password, first.key, second.key]) expect(files.join()).not.toContain(secret)
  })

  it('that cannot be recorded is done if it takes away, or prints its secret, and ends with status 1', async () => {
    await run([...add, '--generate'])
    const raw = new DatabaseSync(join(cwd, 'data/teslim.db'))
    onTestFinished(() => raw.close())
    // Only its own event, which has details.
    raw.exec(`
      CREATE TRIGGER full BEFORE INSERT ON audit_event WHEN NEW.details <> '{}'
      BEGIN SELECT raise(ABORT, 'no room'); END`)
    const { status, stdout, stderr } = await run(['key', 'issue', '--customer', 'a@b.co', '--json'])
    expect([status, stderr]).toEqual([
      1,
      expect.stringMatching(/^teslim: key\.issue is done, but could not be written to the audit log: .*no room\n$/),
    ])
    const { id } = JSON.parse(stdout)
    expect(await json(['key', 'list'])).toMatchObject([{ id, state: 'live' }])

    raw.exec(`
      DROP TRIGGER full;
      CREATE TRIGGER full BEFORE INSERT ON audit_event BEGIN SELECT raise(ABORT, 'no room'); END`)
    const refused = await run(['key', 'issue', '--customer', 'a@b.co'])
    expect(refused).toEqual({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^teslim key issue: the store cannot be used: nothing was done, as it could not be written to the audit log: .*no room\. /,
      ),
    })
    const revoked = await run(['key', 'revoke', id])
    expect([revoked.status, revoked.stderr]).toEqual([1, expect.stringMatching(/^teslim: key\.revoke is done, but /)])
    expect(await json(['key', 'list', '--customer', 'a@b.co'])).toMatchObject([{ id, state: 'revoked' }])
  })

  it('that fails or only reads is not in the audit log', async () => {
    await run([...add, '--password-stdin'], 'short')
    await run(['customer', 'disable', 'x@y.z'])
    await run(['key', 'revoke', 'none'])
    await run(['key', 'rotate', 'none'])
    await run(['customer', 'list'])
    await run(['key', 'list'])
    expect(await json(['audit', 'list'])).toEqual([])
  })

  it('is one line of the list', async () => {
    await run([...add, '--generate'])
    const { stdout } = await run(['audit', 'list'])
    expect(stdout).toMatch(
      /^time \(UTC\) +action +by +customer +what\n\d{4}-\d\d-\d\d \d\d:\d\d:\d\d {2}customer\.add {2}cli:\S+ +a@b\.co {4}isApi true; scope customer; regions TR; authority SKU-\*\n$/,
    )
  })
})

describe('teslim audit list', () => {
  const actions = async (...filter: string[]) =>
    (await json(['audit', 'list', ...filter])).map(({ details }: { details: { n: number } }) => details.n)

  /** Events 1 to 6, an hour apart; the last is an hour old. */
  const fill = async () => {
    const { id } = await json([...add, '--generate'])
    const now = Date.now()
    const action = ['login.refused', 'key.issue', 'key.revoke', 'login.refused', 'customer.allow', 'x']
    const events = action.map((action, index) => ({
      at: now - (6 - index) * 3_600_000,
      actor: 'api',
      action,
      customerId: index % 2 === 0 ? id : null,
      address: '::1',
      requestId: `r-${index + 1}`,
      refusalId: null,
      orderId: index % 3 === 0 ? 'PO-ü' : null,
      keyId: null,
      details: { n: index + 1 },
    }))
    await commandStage({}, cwd).withStore(({ audit }) => audit.append(events))
    return { id, at: (n: number) => new Date(now - (7 - n) * 3_600_000).toISOString() }
  }

  it('shows the events that match its filters, newest last', async () => {
    const { id, at } = await fill()
    const before = ['--to', '30m']
    expect(await actions(...before)).toEqual([1, 2, 3, 4, 5, 6])
    expect(await actions(...before, '--limit', '2')).toEqual([5, 6])
    expect(await actions('--action', 'login')).toEqual([1, 4])
    expect(await actions('--action', 'key.rev')).toEqual([3])
    expect(await actions(...before, '--customer', 'a@b.co')).toEqual([1, 3, 5])
    expect(await actions(...before, '--customer', id, '--action', 'login')).toEqual([1])
    expect(await actions(...before, '--from', '150m')).toEqual([5, 6])
    expect(await actions('--to', '150m')).toEqual([1, 2, 3, 4])
    expect(await actions('--from', at(2), '--to', at(4))).toEqual([2, 3])
    expect(await actions(...before, '--order', 'PO-ü')).toEqual([1, 4])
    expect(await actions(...before, '--order', 'PO-ü', '--customer', id)).toEqual([1])
    expect(await actions(...before, '--request', 'r-5')).toEqual([5])
    const matches = async (action: string) => (await run(['audit', 'list', '--action', action])).stdout
    expect(await matches('nothing')).toBe('No event matches.\n')
    expect(await matches('delvery')).toBe('No event matches. Did you mean --action delivery?\n')
    expect(await matches('customer.ad ')).toBe('No event matches. Did you mean --action customer.add?\n')
  })

  it.each([
    [['--from', 'yesterday'], 2, '--from takes a time such as 2026-11-21, 2026-11-21T14:30:00Z or 24h (ago)'],
    [['--limit', '0'], 2, '--limit takes a whole number from 1 to 100000, not "0"'],
    [['--customer', 'x@y.z'], 1, 'There is no customer "x@y.z".'],
  ])('%j says what is wrong', async (args, expected, line) => {
    const { status, stdout, stderr } = await run(['audit', 'list', ...args])
    expect([status, stdout, stderr]).toEqual([expected, '', expect.stringContaining(line)])
  })

  it('shows control characters from the network escaped, in one line', () => {
    const details = { errorCode: 'PRODUCT_NOT_AUTHORIZED', reason: 'product \u001b[2J\u009b\u202e\n not in authority' }
    const event = auditEvent({ at: 0, actor: 'api', action: 'delivery.refused', customerId: 'c', address: '::1' })
    const [time, action, by, customer, what = ''] = eventCells(
      { ...event, details, orderId: 'PO\u009b', keyId: 'k' },
      utcTimes,
      'a@b.co',
    )
    expect([time, action, by, customer]).toEqual(['1970-01-01 00:00:00 UTC', 'delivery.refused', '::1', 'a@b.co'])
    expect(table(['what'], [[what]])).toBe(
      '  what\n  product \\u001b[2J\\u009b\\u202e not in authority (PRODUCT_NOT_AUTHORIZED); order PO\\u009b; key k',
    )
  })

  it('names the operator who did something over HTTP, and from where', () => {
    const event = auditEvent({ actor: 'console:ops@b.co', action: 'order.erase', address: '127.0.0.2' })
    expect(eventCells(event, utcTimes)[2]).toBe('console:ops@b.co (127.0.0.2)')
  })

  it('shows why something was refused in English, whether it was stored as a message or as a text', () => {
    const details = (reason: unknown) => ({ errorCode: 'API_KEY_INVALID', reason, message: message('API_KEY_INVALID') })
    const event = auditEvent({ at: 0, actor: 'api', action: 'delivery.refused', customerId: null })
    const what = (reason: unknown) => eventCells({ ...event, details: details(reason) }, utcTimes).at(-1)
    expect(what(message('KEY_IS_EXPIRED', { key: 'k' }))).toBe('key k is expired (API_KEY_INVALID)')
    expect(what('key k was lost')).toBe('key k was lost (API_KEY_INVALID)')
  })

  it('shows the numbers of events that were only counted', () => {
    const details = { notRecorded: 7, errorCodes: { A: 5, B: 2 }, addresses: { '::1': 7 }, customers: {} }
    const event = auditEvent({ at: 0, actor: 'api', action: 'login.refused', customerId: null })
    expect(eventCells({ ...event, details }, utcTimes).at(-1)).toBe(
      '7 more, not recorded one by one; errorCodes A 5, B 2; addresses ::1 7',
    )
  })
})

describe('the actor', () => {
  it('is the user of the system, or the user who ran sudo', () => {
    const { uid, username } = userInfo()
    expect(cliActor(undefined)).toBe(`cli:${username}`)
    expect(cliActor('')).toBe(`cli:${username}`)
    expect(cliActor('alice')).toBe(uid === 0 ? 'cli:alice' : `cli:${username}`)
    expect(cliActor('a\u001b\nb'.padEnd(500))).toHaveLength(uid === 0 ? 'cli:'.length + 64 : self.length)
  })
})
