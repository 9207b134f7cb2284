import { expect, it } from 'vitest'
import { createUploads, type UploadConnection } from '#src/purchase/intake/upload.rule.ts'
import type { Supplier } from '#src/purchase/suppliers.ts'
import { until } from '../../support/until.ts'

const MEGABYTE = 1024 * 1024
const CLIENTS = 60
const LINE = Buffer.from(`${'x'.repeat(MEGABYTE)}\n`)

it('holds a bounded number of bytes for clients that read no answers, and goes on without those', async () => {
  let now = 0
  let held = 0
  let most = 0
  let cuts = 0
  let ended = 0
  let writes = 0
  const readers = new Set<() => void>()

  const takeUpload = createUploads({
    intake: {
      deliver: async () => ({ receiptId: 'r', status: 1, orderId: null, duplicate: false, receivedAt: 0 }),
      validate: async () => ({ status: 1, orderId: null, duplicate: false }),
    },
    reader: {
      parse: (body) => ({
        status: 1,
        orderId: null,
        products: [],
        warnings: [],
        payload: body as Buffer,
        idempotencyKey: undefined,
      }),
    },
    readLine: (body) => ({ body, idempotencyKey: undefined }),
    bodyLimitBytes: MEGABYTE,
    takeAllowance: () => undefined,
    storeHasCapacity: () => true,
    patienceMilliseconds: 15_000,
    clock: { now: () => now, monotonic: () => now },
  })

  /** Sends three lines of 1 MiB, each with an answer of 1 MiB, and does not read. */
  const mute = (): UploadConnection => {
    let lines = 3
    let gone = false
    let leave = (): void => undefined
    let isUnread = false
    return {
      origin: { keyId: 'k', address: '192.0.2.1', requestId: 'r' },
      next: async () => (lines-- > 0 ? LINE : undefined),
      check: () => undefined,
      endFor: () => undefined,
      isGone: () => gone,
      pause: () => new Promise((resolve) => setImmediate(resolve)),
      write(text) {
        const { promise, resolve } = Promise.withResolvers<boolean>()
        writes++
        isUnread = true
        held += text.length
        most = Math.max(most, held)
        const settle = (isRead: boolean) => (): void => {
          if (isUnread) held -= text.length
          isUnread = false
          resolve(isRead)
        }
        leave = settle(false)
        readers.add(settle(true))
        return promise
      },
      cut() {
        if (gone) return
        gone = true
        cuts++
        leave()
      },
      end: () => {
        ended++
      },
      identify: async () => ({ key: {} }) as Supplier,
      received: () => 'x'.repeat(MEGABYTE),
      validated: () => '',
      refused: () => '',
    }
  }

  for (let client = 0; client < CLIENTS; client++) void takeUpload(mute(), { key: {} } as Supplier, false)
  await until('there is no room for more', () => held >= 32 * MEGABYTE)
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve))
  expect([writes, cuts]).toEqual([32, 0])
  now += 2000
  await until('the others have had their turn', () => writes >= CLIENTS)
  expect(cuts).toBe(CLIENTS - 32)
  await until('all have ended', () => {
    for (const read of readers) read()
    readers.clear()
    return ended === CLIENTS
  })
  expect(cuts).toBe(CLIENTS - 32)
  expect(most).toBeLessThan(33 * MEGABYTE)
})
