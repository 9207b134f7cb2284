import { beforeAll, describe, expect, it } from 'vitest'
import { message } from '#src/lib/messages/message.ts'
import { newId, systemRandom } from '#src/lib/random.ts'
import { runCommand } from '../support/processes/command.ts'
import { commandStage } from '../support/processes/command-stage.ts'
import { createStore } from '../support/store/create-store.ts'
import { auditEvent, customer, delivery } from '../support/store/store-rows.ts'
import { tempFolder } from '../support/temp-folder.ts'

const { run, json, withStore } = commandStage()
const [one, other] = [
  customer({ name: '', email: 'one@example.com' }),
  customer({ name: '', email: 'other@example.com' }),
]
const HOUR = 3_600_000
const noon = Date.parse('2026-11-20T12:00:00Z')
const sent: { ReceiptID: string }[] = []

beforeAll(() =>
  withStore(async (store) => {
    for (const each of [one, other]) await store.customers.insert(each)
    const deliver = async (who: string, hours: number, orderId: string | null, status: number, body: string) => {
      const time = noon + hours * HOUR
      const made = delivery(who, {
        receiptId: newId(time, systemRandom),
        receivedAt: time,
        orderId,
        status,
        payload: Buffer.from(body),
      })
      await store.deliveries.deliver(made)
      sent.push({ ReceiptID: made.receiptId })
    }
    await deliver(one.id, 0, 'PO-1', 1, '{"Status":1,"ProductID":"A","Total":12345678901234567890}')
    await deliver(one.id, 1, 'PO-1', 2, '\ufeff{"Status":2,\r\n"ProductID":"B"}')
    await deliver(one.id, 2, 'PO-1', 2, '\ufeff{"Status":2,\r\n"ProductID":"B"}')
    await deliver(other.id, 3, 'PO-2', 0, '{"Status":0,"ProductID":"A"}')
    await deliver(other.id, 4, null, 3, '{"Status":3,"Note":"\u202ered"}')
  }),
)
const receipts = async (...args: string[]) =>
  (await json('delivery', 'list', ...args)).map((found: { ReceiptID: string }) =>
    sent.findIndex(({ ReceiptID }) => ReceiptID === found.ReceiptID),
  )

describe('teslim delivery list', () => {
  it.each([
    ['--limit 100', [0, 1, 2, 3, 4]],
    ['--limit 2', [3, 4]],
    ['--customer one@example.com', [0, 1, 2]],
    ['--customer one@example.com --order PO-1 --status 2', [1, 2]],
    ['--order PO-2', [3]],
    ['--order none', []],
    ['--product A', [0, 3]],
    ['--product A --customer other@example.com', [3]],
    ['--status 3', [4]],
    ['--from 2026-11-20T13:00:00Z', [1, 2, 3, 4]],
    ['--from 2026-11-20T13:00:00Z --to 2026-11-20T14:00:00Z', [1]],
    ['--to 2026-11-20', []],
  ])('%s finds %j', async (args, expected) => {
    expect(await receipts(...args.split(' '))).toEqual(expected)
  })

  it('prints a table for people', async () => {
    const { stdout } = await run('delivery', 'list', '--customer', 'one@example.com')
    expect(stdout.split('\n')).toEqual([
      'time (UTC)           order  status                        bytes  customer         key  address  receipt',
      `2026-11-20 12:00:00  PO-1   1 updated                     57     one@example.com                ${sent[0]?.ReceiptID}`,
      `2026-11-20 13:00:00  PO-1   2 being processed             33     one@example.com                ${sent[1]?.ReceiptID}`,
      `2026-11-20 14:00:00  PO-1   2 being processed  duplicate  33     one@example.com                ${sent[2]?.ReceiptID}`,
      '',
    ])
  })

  it.each([
    [
      ['--status', '4'],
      '--status is one of 0 (canceled), 1 (updated), 2 (being processed), 3 (removed from processing), not "4" (see',
    ],
    [['--status', 'cancelled'], 'not "cancelled", did you mean 0 (canceled)? (see'],
    [['--limit', '0'], '--limit takes a whole number from 1 to 100000, not "0"'],
    [['--from', 'soon'], '--from takes a time such as'],
  ])('%j is misuse', async (args, message) => {
    const { status, stderr } = await run('delivery', 'list', ...args)
    expect(status).toBe(2)
    expect(stderr).toContain(message)
  })

  it('says whether there are no deliveries and orders at all, or none that match', async () => {
    const refused = 'For refused deliveries see teslim delivery refused list.\n'
    expect((await run('delivery', 'list', '--status', '1', '--order', 'X')).stdout).toBe(
      `No delivery matches. ${refused}`,
    )
    expect((await run('order', 'list', '--order', 'X')).stdout).toBe('No order matches.\n')
    const cwd = tempFolder()
    await createStore(cwd)
    const printed = async (...args: string[]) => (await runCommand(args, { cwd })).stdout
    expect(await printed('delivery', 'list')).toBe('There are no deliveries yet.\n')
    expect(await printed('order', 'list')).toBe('There are no orders yet.\n')
  })
})

describe('teslim delivery show', () => {
  it('gives the exact bytes with --payload', async () => {
    const { stdout } = await run('delivery', 'show', sent[1]?.ReceiptID ?? '', '--payload')
    // Reading the output as text takes its byte order mark away.
    expect(stdout).toBe('{"Status":2,\r\n"ProductID":"B"}')
  })

  it('keeps numbers exact in JSON, and prints no control character for people', async () => {
    const { stdout } = await run('delivery', 'show', sent[0]?.ReceiptID ?? '', '--json')
    expect(stdout).toContain('"Payload":{"Status":1,"ProductID":"A","Total":12345678901234567890}')
    const shown = (await run('delivery', 'show', sent[4]?.ReceiptID ?? '')).stdout
    expect(shown).toContain('  status      3 removed from processing\n')
    expect(shown).not.toContain('\u202e')
  })

  it('says nothing of where a delivery came from if that is not known', async () => {
    const unknown = { KeyID: null, KeyLabel: null, Address: null, RequestID: null }
    expect(await json('delivery', 'show', sent[0]?.ReceiptID ?? '')).toMatchObject(unknown)
    expect((await run('delivery', 'show', sent[0]?.ReceiptID ?? '')).stdout).not.toContain('address')
  })
})

describe('teslim delivery export', () => {
  const lines = async (...args: string[]) => {
    const { status, stdout, stderr } = await run('delivery', 'export', ...args)
    expect([status, stderr]).toEqual([0, ''])
    return stdout.split('\n').slice(0, -1)
  }

  it('writes one line for each delivery, byte for byte except line breaks, and continues after any cursor', async () => {
    const all = await lines()
    expect(all).toHaveLength(5)
    expect(all[0]).toContain('"Payload":{"Status":1,"ProductID":"A","Total":12345678901234567890}')
    expect(all[1]).toContain('"Payload":{"Status":2,  "ProductID":"B"}')
    for (const [index, line] of all.entries()) {
      expect(await lines('--after', JSON.parse(line).Cursor)).toEqual(all.slice(index + 1))
    }
    expect(await lines('--customer', other.id)).toHaveLength(2)
  })
})

describe('teslim order', () => {
  it('list shows the state of each order', async () => {
    const orders = await json('order', 'list')
    expect(orders).toMatchObject([
      { OrderID: 'PO-1', Status: 2, ReceiptID: sent[1]?.ReceiptID, CustomerID: one.id },
      { OrderID: 'PO-2', Status: 0, ReceiptID: sent[3]?.ReceiptID, CustomerID: other.id },
    ])
    expect(await json('order', 'list', '--status', '0')).toEqual([orders[1]])
    expect(await json('order', 'list', '--product', 'B')).toEqual([orders[0]])
    expect(await json('order', 'list', '--limit', '1')).toEqual([orders[0]])
  })

  it('list --newest begins with the order that changed last', async () => {
    const orders = await json('order', 'list')
    const newest = await json('order', 'list', '--newest')
    expect(newest).toEqual(orders.toReversed())
    expect(await json('order', 'list', '--newest', '--limit', '1')).toEqual(newest.slice(0, 1))
    expect(await json('order', 'list', '--newest', '--order', 'PO-1')).toEqual([orders[0]])
    expect(await json('order', 'list', '--newest', '--customer', other.id, '--status', '0')).toEqual([orders[1]])
    expect((await run('order', 'list', '--newest')).stdout.split('\n')[1]).toContain('PO-2')
  })

  it('show prints the whole history', async () => {
    const { Deliveries, ...state } = await json('order', 'show', 'PO-1')
    expect(state).toMatchObject({ OrderID: 'PO-1', Status: 2 })
    expect(Deliveries.map(({ ReceiptID }: { ReceiptID: string }) => ReceiptID)).toEqual(
      sent.slice(0, 3).map(({ ReceiptID }) => ReceiptID),
    )
    expect((await run('order', 'show', 'PO-1')).stdout.split('\n').slice(0, 4)).toEqual([
      'PO-1   2 being processed   one@example.com',
      '',
      'time (UTC)           status                        bytes  receipt',
      `2026-11-20 12:00:00  1 updated                     57     ${sent[0]?.ReceiptID}`,
    ])
  })
})

it.each([
  [['delivery', 'list', '--customer', 'n@b.co'], 1, 'There is no such customer.'],
  [['delivery', 'show', 'x'], 1, 'There is no delivery "x".'],
  [
    ['delivery', 'export', '--after', 'x'],
    2,
    '--after takes the Cursor of an export or feed with the same --customer.',
  ],
  [['order', 'show', 'PO-9'], 1, 'There is no order "PO-9".'],
])('%j fails in one line', async (args, status, line) => {
  const stderr = `teslim ${args.slice(0, 2).join(' ')}: ${line}\n`
  expect(await run(...args)).toEqual({ status, stdout: '', stderr })
})

describe('teslim order show of an order that was refused', async () => {
  const { run, json: ofCommand, withStore } = commandStage()
  const [one, other] = [
    customer({ name: '', email: 'one@example.com' }),
    customer({ name: '', email: 'other@example.com' }),
  ]
  const PRODUCTS = message('PRODUCTS_NOT_ALLOWED', { products: ['SKU-9'] })
  const refusal = (who: string, hours: number, orderId: string | null, more = {}) => {
    const at = noon + hours * HOUR
    const details = { errorCode: 'PRODUCT_NOT_AUTHORIZED', message: PRODUCTS, ...more }
    return auditEvent({
      at,
      action: 'delivery.refused',
      customerId: who,
      refusalId: newId(at, systemRandom),
      orderId,
      details,
    })
  }
  const counted = (who: string, hours: number, count: number) =>
    refusal(who, hours, null, {
      errorCode: 'REFUSALS_NOT_LISTED',
      message: message('REFUSALS_NOT_LISTED', { count, codes: [] }),
    })
  const [first, second, only] = [refusal(one.id, 0, 'PO-1'), refusal(one.id, 2, 'PO-1'), refusal(one.id, 0, 'PO-404')]
  const events = [first, second, only, refusal(other.id, 3, 'PO-1')]
  const retrying = customer({ name: '', email: 'retrying@example.com' })
  for (let count = 0; count < 1003; count++) events.push(refusal(retrying.id, 100 + count / 1000, "PO'MANY"))
  events.push(refusal(other.id, 102, "PO'MANY"))
  // Its message was too long, and is cut.
  const cut = { errorCode: 'REFUSALS_NOT_LISTED', message: 'Of the last minute', notRecorded: 9 }
  events.push(refusal(retrying.id, 102, null, cut))
  for (const who of [one.id, other.id]) events.push(refusal(who, 4, 'PO-BOTH'))
  // The first one is too long ago.
  events.push(counted(one.id, -26, 100), counted(one.id, -20, 40), counted(one.id, 5, 3), counted(other.id, 1, 7))
  const body = {
    customerId: one.id,
    keyId: 'k',
    orderId: 'PO-1',
    errorCode: 'PRODUCT_NOT_AUTHORIZED',
    message: PRODUCTS,
  }
  const kept = { ...body, refusalId: second.refusalId ?? '', at: second.at, requestId: 'r', address: '::1' }
  const at = noon + HOUR
  const accepted = delivery(one.id, {
    receiptId: newId(at, systemRandom),
    receivedAt: at,
    orderId: 'PO-1',
    status: 2,
    payload: Buffer.from('{"Status":2}'),
  })
  await withStore(async (store) => {
    for (const each of [one, other, retrying]) await store.customers.insert(each)
    await store.audit.append(events)
    await store.refused.keep([{ ...kept, payload: Buffer.from('{}') }], { maxBytes: 1e6, notKept: 0 })
    await store.deliveries.deliver(accepted)
  })
  const json = (...args: string[]) => ofCommand('order', 'show', ...args)
  const NOT_LISTED =
    'Besides, 43 refusals of this customer were only counted between 2026-11-19 16:00:00 UTC and 2026-11-20 17:00:00 UTC, not listed: some may be of this order.'

  it('prints deliveries and refusals in one table', async () => {
    const { status, stdout } = await run('order', 'show', 'PO-1')
    expect(status).toBe(0)
    const why = 'This API key may not deliver: SKU-9.'
    expect(stdout.split('\n')).toEqual([
      'PO-1   2 being processed   one@example.com',
      '',
      'time (UTC)           status                                     bytes  receipt or refusal                    message',
      `2026-11-20 12:00:00  refused            PRODUCT_NOT_AUTHORIZED         ${first.refusalId}  ${why}`,
      `2026-11-20 13:00:00  2 being processed                          12     ${accepted.receiptId}`,
      `2026-11-20 14:00:00  refused            PRODUCT_NOT_AUTHORIZED  2      ${second.refusalId}  ${why}`,
      '',
      'Refused deliveries of other customers name this order, too: other@example.com.',
      '',
      NOT_LISTED,
      '',
    ])
  })

  it('finds an order of which nothing was accepted', async () => {
    const { status, stdout } = await run('order', 'show', 'PO-404')
    expect(status).toBe(0)
    expect(stdout).toMatch(/^PO-404 {3}no accepted delivery; 1 refusal {3}one@example.com\n\ntime/)
    expect(stdout).toContain(only.refusalId)
    expect(await json('PO-404')).toMatchObject({
      OrderID: 'PO-404',
      CustomerID: one.id,
      Deliveries: [],
      Refusals: [{ RefusalID: only.refusalId, MessageCode: 'PRODUCTS_NOT_ALLOWED', Address: only.address }],
      OtherCustomers: [],
      NotListed: { Count: 43, From: '2026-11-19T16:00:00.000Z', To: '2026-11-20T17:00:00.000Z' },
    })
    expect((await run('delivery', 'list', '--order', 'PO-404')).stdout).toBe(
      'No delivery matches. Deliveries of this order were refused: see teslim order show.\n',
    )
  })

  it('shows what was refused of the customer that is named, or asks for one', async () => {
    const { Refusals, ...order } = await json('PO-1', '--customer', 'other@example.com')
    expect(order).toMatchObject({ OrderID: 'PO-1', CustomerID: other.id, Deliveries: [], NotListed: { Count: 7 } })
    expect(Refusals).toHaveLength(1)
    expect(await json('PO-1', '--customer', one.id)).toMatchObject({ Status: 2, OtherCustomers: [] })
    expect(await run('order', 'show', 'PO-BOTH')).toMatchObject({
      status: 1,
      stdout: '',
      stderr: expect.stringContaining('Several customers have an order with this id'),
    })
  })

  it('shows the newest of very many refusals, and says how many came before', async () => {
    const { status, stdout } = await run('order', 'show', "PO'MANY", '--customer', 'retrying@example.com')
    expect(status).toBe(0)
    const lines = stdout.split('\n')
    expect(lines[0]).toBe("PO'MANY   no accepted delivery; 1,003 refusals   retrying@example.com")
    expect(lines.filter((line) => line.includes('  refused  '))).toHaveLength(1000)
    const list = String.raw`teslim delivery refused list --order 'PO'\''MANY'`
    expect(stdout).toContain(`\n\nand 3 earlier refusals: ${list}\n`)
    expect(stdout).toContain('\nBesides, 9 refusals of this customer were only counted in the minute before')
    const shown = await json("PO'MANY", '--customer', retrying.id)
    expect(shown.Refusals).toHaveLength(1000)
    expect(shown.EarlierRefusals).toEqual({ Count: 3, AtLeast: false })
    expect(shown.NotListed).toMatchObject({ Count: 9, AtLeast: false })
  })

  it('fails for an order of which nothing is known', async () => {
    for (const args of [['PO-9'], ['PO-404', '--customer', other.id]])
      expect(await run('order', 'show', ...args)).toMatchObject({
        status: 1,
        stdout: '',
        stderr: expect.stringMatching(/^teslim order show: There is no order /),
      })
  })
})
