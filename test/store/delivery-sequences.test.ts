import { expect, it, vi } from 'vitest'
import type { Sequence } from '#src/store/store.ts'
import { customer, delivery } from '../support/store/store-rows.ts'
import { lockStore, storesOfRun } from '../support/store/stores.ts'
import { openTestStore } from '../support/store/test-store.ts'
import { until } from '../support/until.ts'

vi.setConfig({ testTimeout: 30_000 })

/** As many as are committed at once, although another commit is under way. */
const BATCH = 24
/** The first batch is given up after 3 seconds, by the embedded store up to 100 ms later. What comes now may wait longer. */
const LATER_MILLISECONDS = 1700

it.each(storesOfRun())(
  'on %s nothing of a sequence is stored after a batch that fails, also not from the batch behind it',
  async (_, emptyStore) => {
    const { DATABASE_URL } = await emptyStore()
    const { customers, deliveries } = await openTestStore(DATABASE_URL, { TESLIM_REQUEST_TIMEOUT: '4' })
    const one = customer()
    await customers.insert(one)
    await deliveries.deliver(delivery(one.id, { orderId: 'before' }))
    const deliver = (orderId: string, status: number, sequence?: Sequence) =>
      deliveries.deliver(delivery(one.id, { orderId, status, payload: Buffer.from(`{"n":${status}}`) }), sequence).then(
        () => 'stored',
        ({ code }) => code,
      )
    const others = (name: string) => Array.from({ length: BATCH - 1 }, (_, index) => deliver(`${name}-${index}`, 1))
    const sequence: Sequence = { isUnderWay: false, failure: undefined }
    const statuses = async () => (await deliveries.history(one.id, 'X')).map(({ status }) => status)

    const unlock = await lockStore(DATABASE_URL)
    const first = [deliver('X', 0, sequence), ...others('first')]
    const begun = performance.now()
    await until('it is later', () => performance.now() - begun > LATER_MILLISECONDS)
    const second = [...others('second'), deliver('X', 1, sequence), deliver('Y', 1), deliver('X', 2, sequence)]
    expect(await Promise.all(first)).toEqual(Array(BATCH).fill('STORE_UNAVAILABLE'))
    await unlock()
    expect(await Promise.all(second)).toEqual([
      ...Array(BATCH - 1).fill('stored'),
      'STORE_UNAVAILABLE',
      'stored',
      'STORE_UNAVAILABLE',
    ])
    expect(await deliver('X', 3, sequence)).toBe('STORE_UNAVAILABLE')
    expect(await statuses()).toEqual([])

    const again: Sequence = { isUnderWay: false, failure: undefined }
    expect(await Promise.all([0, 1, 2, 3].map((status) => deliver('X', status, again)))).toEqual(
      Array(4).fill('stored'),
    )
    expect(await statuses()).toEqual([3, 2, 1, 0])
  },
)
