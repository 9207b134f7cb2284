import { expect, it } from 'vitest'
import type { Database } from '#src/store/sqlite/database.ts'
import { boundNouns } from '#src/store/sqlite/nouns.ts'
import type { Counting } from '#src/store/sqlite/roll-ups.ts'
import type {
  AuditFilter,
  AuditStore,
  Bounds,
  DeliveryStore,
  Filter,
  OrderPlace,
  RefusedStore,
} from '#src/store/store.ts'
import { plansOf } from '../support/sqlite-plans.ts'
import { customer } from '../support/store-rows.ts'

const bounds: Bounds = { limit: 50, scan: 1000 }
const customers = Array.from({ length: 50 }, () => customer())
const customerId = customers[7]?.id
const place: OrderPlace = { customerId: customerId ?? '', orderId: 'order-20000' }

const KEY = '0fa1fd40-d173-7140-8bbb-000000000001'

/** Every way of walking, as the rules use them. */
async function walkEveryWay(reads: DeliveryStore): Promise<void> {
  // The statistics say that no order has status 9.
  const filters: Filter[] = [
    {},
    { status: 1 },
    { status: 9 },
    { from: 1, to: 2 },
    { duplicate: true },
    { keyId: KEY, addressPart: '192.0.2.' },
  ]
  for (const filter of filters) {
    for (const whose of [{}, { customerId }]) {
      for (const after of [null, place]) {
        await reads.orders(after, { ...filter, ...whose }, bounds)
        await reads.orders(after, { ...filter, ...whose, orderId: place.orderId }, bounds)
        await reads.orders(after, { ...whose, orderIdPrefix: 'order-2' }, bounds)
      }
      await reads.after(90_000, { ...filter, ...whose }, bounds)
      await reads.after(0, { ...filter, ...whose }, bounds)
      for (const position of [Number.MAX_SAFE_INTEGER, 50_000]) {
        await reads.before(position, { ...filter, ...whose }, bounds)
      }
    }
  }
  await reads.history(place.customerId, place.orderId, { limit: 101 })
  await reads.history(place.customerId, place.orderId, { from: 90_000, limit: 101 })
  const positions = Array.from({ length: 250 }, (_, number) => 1 + number * 400)
  await reads.statesAt(positions, 100_000)
  await reads.statesAt(positions, 50_000)
  await reads.payloads(positions, undefined)
  await reads.payloads([1], 'text')
  await reads.origins(positions)
}

/** The blocks of all but the newest 6,000 deliveries or so. */
const BLOCKS = `
  INSERT INTO delivery_block (block, customer, offsets)
  SELECT position / 4096, customer, group_concat(position % 4096) FROM delivery WHERE position / 4096 < 23 GROUP BY position / 4096, customer`

/** Lists with all customers, of all but the newest ten blocks, and many more that nothing looks for. */
const LISTS = `
  INSERT INTO block_customers (block, customers)
  SELECT DISTINCT block, x'ffffffffffffff' FROM delivery_block WHERE block < 13
   UNION ALL SELECT -n, x'ffffffffffffff' FROM numbers WHERE n <= 5000`

/** 100,000 deliveries, two for each order, of 50 customers; some tell of many for one. */
const FILL = `
  INSERT INTO delivery (position, receipt, customer, order_id, status, received_at, previous, payload)
  SELECT n, unhex(printf('%032x', n)), 1 + (n / 2) % 50, 'order-' || (n / 2), n % 4, n, CASE WHEN n % 2 = 1 THEN n - 1 END, zeroblob(300)
    FROM numbers;
  INSERT INTO order_state (customer, order_id, status, state_position, latest_position, digest)
  SELECT 1 + (n / 2) % 50, 'order-' || (n / 2), n % 4, n, n, x'00' FROM numbers WHERE n % 2 = 1`

it('SQLite finds everything by an index, whether or not it has statistics', async () => {
  const walk = (database: Database) => walkEveryWay(boundNouns(database).deliveries as DeliveryStore)
  const fill = [FILL, BLOCKS, LISTS].join(';')
  for await (const { plans, steps } of plansOf({ customers, fill, last: 100_001 }, walk)) {
    expect(plans.size).toBe(20)
    expect(steps.filter((step) => /^SCAN (?!chain|wanted|[dp]$|w VIRTUAL|json_each|CONSTANT)/.test(step))).toEqual([])
    expect(steps.filter((step) => /TEMP B-TREE|AUTOMATIC/.test(step) && !/ORDER BY|DISTINCT/.test(step))).toEqual([])
    for (const [sql, plan] of plans)
      if (!sql.includes('chain')) expect([...plan].join('\n')).not.toContain('TEMP B-TREE')
    expect(steps).toContain('SEARCH s USING PRIMARY KEY (customer=? AND order_id=?)')
    expect(steps).toContain('SEARCH l USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)')
  }
})

/** What is read of single deliveries and orders, and of where they stand. */
async function lookUpEveryWay(reads: DeliveryStore): Promise<void> {
  const receipt = '00000000-0000-7000-8000-000000000064'
  await reads.findByReceipt(receipt)
  await reads.receiptsWith(receipt.slice(0, 8), 10)
  await reads.receiptsOfRequest(receipt, bounds)
  await reads.orderState(place.customerId, place.orderId)
  await reads.lastPosition()
  await reads.countAfter(50_000)
  await reads.countFrom(0, 1000)
  await reads.positionsWithin({ from: 1, to: 2 })
  await reads.arrivals(50_000)
}

it('SQLite looks up deliveries, orders and positions by an index, whether or not it has statistics', async () => {
  const lookUp = (database: Database) => lookUpEveryWay(boundNouns(database).deliveries as DeliveryStore)
  for await (const { plans, steps } of plansOf({ customers, fill: FILL, last: 100_001 }, lookUp)) {
    expect(plans.size).toBe(10)
    expect(steps.filter((step) => /^SCAN (?!d$|unordered_time$|\(subquery|CONSTANT)/.test(step))).toEqual([])
    expect(steps.filter((step) => /AUTOMATIC|TEMP B-TREE FOR ORDER BY/.test(step))).toEqual([])
  }
})

it('SQLite reads counts by hour, and what is not counted, by their indexes', async () => {
  const count = async (database: Database) => {
    const { read, uncounted } = boundNouns(database).rollUps as Counting
    await read({ customerId, from: 0, to: 1, hoursEach: 1 }, 10)
    await uncounted(10)
  }
  for await (const { steps } of plansOf({ customers, fill: '', last: 1 }, count)) {
    const found = steps.filter((step) => / (?:delivery|delivery_hour|refusal_hour)\b/.test(step))
    expect(new Set(found)).toEqual(
      new Set([
        'SEARCH delivery_hour USING PRIMARY KEY (customer=? AND hour>? AND hour<?)',
        'SEARCH delivery USING INTEGER PRIMARY KEY (rowid>?)',
        'SEARCH delivery USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)',
        // The greatest position.
        'SEARCH delivery',
        'SEARCH refusal_hour USING PRIMARY KEY (customer=? AND hour>? AND hour<?)',
      ]),
    )
  }
})

/** 100,000 refusals, every tenth with a body, of 50 customers. */
const FILL_REFUSALS = `
  INSERT INTO audit_event (at, actor, action, customer_id, refusal, key_id, order_id, order_key, request_id, details)
  SELECT n, 'api', 'delivery.refused', 'c-' || (n % 50), printf('%08x-%04x-7000-8000-%012x', n / 65536, n % 65536, n), 'k', 'PO-' || n, 256 + n % 32512, 'r', '{"errorCode":"X","message":"No."}'
    FROM numbers;
  INSERT INTO refused_delivery (refusal, at, customer_id, key_id, order_id, order_key, error_code, message, request_id, address, payload)
  SELECT printf('%08x-%04x-7000-8000-%012x', n / 65536, n % 65536, n), n, 'c-' || (n % 50), 'k', 'PO-' || n, 256 + n % 32512, 'X', '"No."', 'r', '::1', zeroblob(300) FROM numbers WHERE n % 10 = 7`

const MIDDLE = '00000000-c350-7000-8000-000000000000'
const MAX_REFUSALS = 251

/**
 * The pages of refusals of a customer, of one without any, and of all: the first, a later one, one of a period, those of an error
 * code, those whose ids begin with a text, and those of an order.
 */
async function listEveryWay({ refusals, list }: Pick<RefusedStore, 'refusals' | 'list'>): Promise<void> {
  const ranges = [
    {},
    { before: MIDDLE },
    { from: 1000, to: 90_000 },
    { errorCode: 'NONE' },
    { idPrefix: MIDDLE.slice(0, 12) },
    { orderId: 'PO-7' },
    { orderId: 'PO-7', before: MIDDLE, errorCode: 'NONE' },
  ]
  for (const customerId of ['c-7', 'nobody', undefined]) {
    for (const range of ranges) await refusals({ customerId, ...range }, { limit: MAX_REFUSALS, scan: MAX_REFUSALS })
    await list({ customerId, limit: 50 })
  }
}

/** The pages of the audit log: of all, a customer, one without any, a request, and with filters that let nothing through. */
async function auditEveryWay({ before, list }: AuditStore): Promise<void> {
  const filters: AuditFilter[] = [
    {},
    { action: 'none' },
    { orderId: 'PO-1' },
    { keyId: 'none' },
    { from: 1000, to: 90_000 },
  ]
  for (const whose of [{}, { customerId: 'c-7' }, { customerId: 'nobody' }, { requestId: 'r' }, { requestId: 'none' }])
    for (const filter of filters)
      for (const place of [null, [50_000, 50_000]] as const)
        await before(place, { ...filter, ...whose }, { limit: 50, scan: MAX_REFUSALS })
  await list({ customerId: 'c-7', limit: 50 })
}

it('SQLite lists refusals and the audit log by an index, whether or not it has statistics', async () => {
  const listAll = async (database: Database) => {
    const nouns = boundNouns(database)
    const { refusals, list } = nouns.refused as RefusedStore
    await listEveryWay({ refusals, list })
    await auditEveryWay(nouns.audit as AuditStore)
    for (const customerId of ['c-7', undefined])
      expect((await refusals({ customerId }, { limit: MAX_REFUSALS, scan: 1 })).refusals).toHaveLength(MAX_REFUSALS)
  }
  for await (const { steps } of plansOf({ customers, fill: FILL_REFUSALS, last: 100_000 }, listAll)) {
    expect(steps.filter((step) => /^SCAN (?!f$|found|logged|kept|\(subquery|CONSTANT)/.test(step))).toEqual([])
    for (const search of [
      'audit_event USING COVERING INDEX audit_event_refusal (customer_id=? AND refusal>? AND refusal<?)',
      'audit_event USING INDEX audit_event_at (at>? AND at<?)',
      'audit_event USING INDEX audit_event_customer (customer_id=? AND at>? AND at<?)',
      'audit_event USING INDEX audit_event_request (request_id=? AND at>? AND at<?)',
      'refused_delivery USING COVERING INDEX refused_delivery_customer (customer_id=? AND refusal>? AND refusal<?)',
      'audit_event USING COVERING INDEX audit_event_refused (refusal>? AND refusal<?)',
      'refused_delivery USING COVERING INDEX sqlite_autoindex_refused_delivery_1 (refusal>? AND refusal<?)',
      'audit_event USING COVERING INDEX audit_event_order (order_key=? AND refusal>? AND refusal<?)',
      'audit_event USING COVERING INDEX audit_event_order_customer (order_key=? AND customer_id=? AND refusal>? AND refusal<?)',
      'refused_delivery USING COVERING INDEX refused_delivery_order (order_key=? AND refusal>? AND refusal<?)',
      'refused_delivery USING COVERING INDEX refused_delivery_order_customer (order_key=? AND customer_id=? AND refusal>? AND refusal<?)',
      'a USING INDEX audit_event_refused (refusal=?)',
      'r USING INDEX sqlite_autoindex_refused_delivery_1 (refusal=?)',
    ])
      expect(
        steps.some((step) => step.startsWith(`SEARCH ${search}`)),
        `${search} in ${steps}`,
      ).toBe(true)
  }
})
