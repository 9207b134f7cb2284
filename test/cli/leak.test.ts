import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { newId, systemRandom } from '#src/lib/random.ts'
import { commandStage } from '../support/processes/command-stage.ts'
import { apiKey, auditEvent, customer, delivery } from '../support/store/store-rows.ts'

const { run, json, withStore } = commandStage()
const HOUR = 3_600_000
const now = Date.now()
const [one, other] = [
  customer({ name: '', email: 'one@example.com' }),
  customer({ name: '', email: 'other@example.com' }),
]
const createdAt = now - 90 * 24 * HOUR
const leaked = apiKey(one.id, { id: `11${randomUUID().slice(2)}`, label: 'leaked', createdAt })
const kept = apiKey(one.id, { id: `22${randomUUID().slice(2)}`, label: '', createdAt })
const theirs = apiKey(other.id, { id: `33${randomUUID().slice(2)}`, label: 'erp', createdAt })
const iso = (time: number): string => new Date(time).toISOString()
const shown = (time: number): string => `${iso(time).slice(0, 19).replace('T', ' ')}`

interface Sent {
  readonly receipt: string
  readonly at: number
}
const sent: Sent[] = []
const places = (found: readonly { ReceiptID: string }[]) =>
  found.map(({ ReceiptID }) => sent.findIndex(({ receipt }) => receipt === ReceiptID))

beforeAll(() =>
  withStore(async (store) => {
    for (const each of [one, other]) await store.customers.insert(each)
    for (const each of [leaked, kept, theirs]) await store.apiKeys.insert(each)
    const deliver = async (key: typeof leaked, hoursAgo: number, address: string, status = 1, orderId = 'PO-1') => {
      const at = now - hoursAgo * HOUR
      const receiptId = newId(at, systemRandom)
      const origin = { keyId: key.id, address, requestId: 'r-1' }
      const payload = Buffer.from(`{"Status":${status},"ProductID":"A"}`)
      await store.deliveries.deliver(
        delivery(key.customerId, { receiptId, receivedAt: at, orderId, status, payload, origin }),
      )
      sent.push({ receipt: receiptId, at })
    }
    await deliver(leaked, 40 * 24, '192.0.2.1')
    await deliver(kept, 9, '203.0.113.7', 2)
    await deliver(leaked, 8, '203.0.113.7')
    await deliver(leaked, 7, '203.0.113.77')
    await deliver(theirs, 6, '203.0.113.8')
    await deliver(leaked, 5, '2001:db8:0:1::7', 3)
    const refused = { action: 'delivery.refused', actor: 'api', customerId: one.id, keyId: leaked.id, at: now - HOUR }
    await store.audit.append([
      auditEvent({ ...refused, details: { errorCode: 'PRODUCT_NOT_AUTHORIZED' } }),
      auditEvent({ ...refused, details: { errorCode: 'PRODUCT_NOT_AUTHORIZED' } }),
      auditEvent({ ...refused, details: { errorCode: 'API_KEY_INVALID' } }),
      auditEvent({ ...refused, at: now - 40 * 24 * HOUR, details: { errorCode: 'API_KEY_INVALID' } }),
      auditEvent({ ...refused, keyId: kept.id, details: { errorCode: 'API_KEY_INVALID' } }),
      auditEvent({ ...refused, keyId: null, details: { errorCode: 'REFUSALS_NOT_LISTED', notRecorded: 7 } }),
    ])
  }),
)

describe('teslim delivery list', () => {
  it.each([
    [`--key ${leaked.id}`, [0, 2, 3, 5]],
    [`--key ${leaked.id.slice(0, 5)} --limit 2`, [3, 5]],
    [`--key ${leaked.id.slice(0, 5)} --status 3`, [5]],
    [`--key ${kept.id} --customer other@example.com`, []],
    [`--key ${leaked.id} --order PO-1 --from 24h`, [2, 3, 5]],
    ['--address 203.0.113.7', [1, 2]],
    ['--address 203.0.113.0/28', [1, 2, 4]],
    [`--address 203.0.113.0/24 --key ${leaked.id}`, [2, 3]],
    ['--address 2001:db8::/32', [5]],
    ['--address 203.0.113.7 --product A --status 2', [1]],
    ['--address ::/0', [5]],
  ])('%s finds %j', async (args, expected) => {
    expect(places(await json('delivery', 'list', ...args.split(' ')))).toEqual(expected)
  })

  it('shows where each came from', async () => {
    expect((await json('delivery', 'list', '--key', leaked.id)).at(-1)).toMatchObject({
      KeyID: leaked.id,
      KeyLabel: 'leaked',
      Address: '2001:db8:0:1::7',
    })
    const receipt = sent[2]?.receipt ?? ''
    const origin = { KeyID: leaked.id, KeyLabel: 'leaked', Address: '203.0.113.7', RequestID: 'r-1' }
    expect(await json('delivery', 'show', receipt)).toMatchObject(origin)
    const lines = [`  API key     ${leaked.id} (leaked)`, '  address     203.0.113.7', '  request     r-1']
    expect((await run('delivery', 'show', receipt)).stdout).toContain(`\n${lines.join('\n')}\n  payload `)
    const { stdout } = await run('delivery', 'list', '--customer', 'one@example.com', '--from', '10h', '--to', '6h')
    const line = (n: number, what: string) => `${shown(sent[n]?.at ?? 0)}  ${what}  ${sent[n]?.receipt}`
    expect(stdout.split('\n')).toEqual([
      `time (UTC)           order  status                        bytes  customer         ${'key'.padEnd(36)}  address       receipt`,
      line(1, `PO-1   2 being processed             28     one@example.com  ${kept.id}  203.0.113.7 `),
      line(2, `PO-1   1 updated                     28     one@example.com  ${'leaked'.padEnd(36)}  203.0.113.7 `),
      line(3, `PO-1   1 updated          duplicate  28     one@example.com  ${'leaked'.padEnd(36)}  203.0.113.77`),
      '',
    ])
  })

  it.each([
    [['--address', '203.0.113'], 2, '--address "203.0.113" is not a network: write an address such as 203.0.113.7'],
    [['--address', '203.0.113.0/33'], 2, '--address "203.0.113.0/33" has a wrong prefix length'],
    [['--key', 'none'], 1, 'teslim delivery list: There is no API key "none".'],
  ])('%j is refused', async (args, expected, message) => {
    const { status, stdout, stderr } = await run('delivery', 'list', ...args)
    expect([status, stdout]).toEqual([expected, ''])
    expect(stderr).toContain(message)
  })
})

it('teslim delivery export writes what came with a key, with key and address, and goes on after a cursor', async () => {
  const lines = async (...args: string[]) => {
    const { status, stdout } = await run('delivery', 'export', '--key', leaked.id, ...args)
    expect(status).toBe(0)
    return stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line))
  }
  const all = await lines()
  expect(places(all)).toEqual([0, 2, 3, 5])
  expect(all[1]).toMatchObject({ KeyID: leaked.id, KeyLabel: 'leaked', Address: '203.0.113.7', Payload: { Status: 1 } })
  expect(await lines('--after', all[1].Cursor)).toEqual(all.slice(2))
})

describe('teslim key show', () => {
  it('counts what came with a key in the last 30 days, and from where', async () => {
    const { stdout } = await run('key', 'show', leaked.id.slice(0, 6))
    const [first = 0, last = 0] = [sent[2]?.at, sent[5]?.at]
    expect(stdout.replace(/Since .* UTC:/, 'Since:').split('\n')).toEqual([
      `${leaked.id} (leaked)`,
      '  customer    one@example.com',
      '  state       live',
      `  created     ${shown(createdAt)} UTC`,
      '  expires     never',
      '  last used   never',
      '  limits      none',
      '',
      'Since:',
      '  deliveries  3: 2 updated, 1 removed from processing',
      '  duplicates  1 of them',
      `  first       ${shown(first)} UTC`,
      `  last        ${shown(last)} UTC`,
      '  refusals    3: 2 PRODUCT_NOT_AUTHORIZED, 1 API_KEY_INVALID',
      '              7 more with keys of the customer were only counted',
      '',
      'network            deliveries',
      '203.0.113.0/24     2',
      '2001:db8:0:1::/64  1',
      '',
    ])
    expect(await json('key', 'show', leaked.id, '--since', '2000-01-01')).toMatchObject({
      id: leaked.id,
      customer: 'one@example.com',
      since: '2000-01-01T00:00:00.000Z',
      deliveries: 4,
      duplicates: 1,
      byStatus: [0, 3, 0, 1],
      firstAt: iso(sent[0]?.at ?? 0),
      lastAt: iso(last),
      networks: [
        { network: '203.0.113.0/24', deliveries: 2 },
        { network: '2001:db8:0:1::/64', deliveries: 1 },
        { network: '192.0.2.0/24', deliveries: 1 },
      ],
      otherNetworks: 0,
      refusals: { API_KEY_INVALID: 2, PRODUCT_NOT_AUTHORIZED: 2 },
      notRecorded: 7,
    })
  })

  it('says so if nothing came with it', async () => {
    const { stdout } = await run('key', 'show', theirs.id, '--since', '1h')
    expect(stdout).toContain('  deliveries  none\n  refusals    none\n')
    expect(await json('key', 'show', theirs.id, '--since', '1h')).toMatchObject({
      deliveries: 0,
      firstAt: null,
      networks: [],
    })
  })

  it.each([
    [['none'], 1, 'There is no API key "none".'],
    [[leaked.id, '--since', 'soon'], 2, '--since takes a time such as'],
    [[], 2, 'KEYID'],
  ])('%j is refused', async (args, expected, message) => {
    const { status, stdout, stderr } = await run('key', 'show', ...args)
    expect([status, stdout]).toEqual([expected, ''])
    expect(stderr).toContain(message)
  })
})
