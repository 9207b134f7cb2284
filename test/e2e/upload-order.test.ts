import { text } from 'node:stream/consumers'
import { expect, it, vi } from 'vitest'
import { ask } from '../support/app/ask.ts'
import { openUpload, upload } from '../support/app/upload.ts'
import { makeSupplier } from '../support/processes/ledger.ts'
import { serve, startProcess } from '../support/processes/process.ts'
import { lockStore, storesOfRun } from '../support/store/stores.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { until } from '../support/until.ts'

vi.setConfig({ testTimeout: 60_000 })

/** A delivery under a lock of the file fails after 3 seconds, and under one of the tables, too. */
const ENV = { NODE_ENV: 'production', TESLIM_REQUEST_TIMEOUT: '4' }
/** What is sent then still waits when the lock has made what came first fail. */
const LATER_MILLISECONDS = 1700

const line = (order: string | null, status: number): string => {
  const body = { ...(order && { OrderID: order }), Status: status, Products: [{ Sku: 'S' }] }
  return `${JSON.stringify({ IdempotencyKey: `${order}-${status}`, Body: body })}\n`
}

/** A server on an empty store that can be locked. */
async function startServer(emptyStore: (typeof stores)[number][1]) {
  const env = { ...ENV, ...(await emptyStore()) }
  const where = { cwd: tempFolder(), env }
  const { key } = await makeSupplier(where)
  const { url } = await serve(where)
  await upload(url, key, line('before', 1))
  return {
    where,
    url,
    key,
    lock: () => lockStore(env.DATABASE_URL),
    /** The Status of each delivery of an order, the latest first. */
    async statuses(order: string): Promise<number[]> {
      const headers = { ApiKey: key }
      const { body } = await ask(`${url}/Supplier/deliveries?orderId=${order}`, { method: 'GET', headers })
      return JSON.parse(body).data.Deliveries.map(({ Status }: { Status: number }) => Status)
    },
  }
}

/** Sends what is later than what was sent at first, while that is waiting for the lock. */
async function later(send: () => void): Promise<void> {
  const begun = performance.now()
  await until('it is later', () => performance.now() - begun > LATER_MILLISECONDS)
  send()
}

const stores = storesOfRun()

it.each(stores)('on %s a line that fails takes along what follows of its order, and nothing else', async (_, empty) => {
  const { url, key, lock, statuses } = await startServer(empty)
  const unlock = await lock()
  const first = [line('X', 1), line(null, 1)]
  const second = [line('X', 0), line(null, 2), line('Y', 1), line('X', 2)]
  const { sent, answers, done } = openUpload(url, key)
  sent.write(first.join(''))
  await later(() => sent.write(second.join('')))
  await until('the first line is answered', () => answers.length > 0)
  await unlock()
  await until('the upload has ended', () => answers.at(-1)?.Line === null)
  sent.end()
  const unavailable = { errorCode: 'STORE_UNAVAILABLE' }
  expect((await done).answers).toMatchObject([
    { Line: 1, ...unavailable },
    { Line: 2, ...unavailable },
    { Line: 3, ...unavailable },
    { Line: 4, success: true },
    { Line: 5, success: true },
    { Line: 6, ...unavailable },
    { Line: null, ...unavailable },
  ])
  expect([await statuses('X'), await statuses('Y')]).toEqual([[], [1]])
  const again = await upload(url, key, [...first, ...second].join(''))
  expect(again.answers.map(({ data }) => data?.Duplicate)).toEqual([false, false, false, true, true, false])
  expect(await statuses('X')).toEqual([2, 0, 1])
})

it.each(stores)('on %s teslim deliver never stores an older line of an order after a newer one', async (_, empty) => {
  const { where, url, key, lock, statuses } = await startServer(empty)
  const env = { ...where.env, TESLIM_API_KEY: key }
  const unlock = await lock()
  // Fails before the command hears of its lines, which is not before each has an outcome.
  const witness = ask(`${url}/Purchase/update`, { method: 'POST', headers: { ApiKey: key }, body: '{"Status":1}' })
  const command = startProcess(['deliver', '-', '--url', url, '--json'], { ...where, env })
  const printed = Promise.all([text(command.stdout), text(command.stderr)])
  command.stdin.write(line('X', 1))
  await later(() => command.stdin.end(line('X', 0) + line('Y', 1)))
  expect((await witness).status).toBe(503)
  await unlock()
  const [stdout, stderr] = await printed
  expect(JSON.parse(stdout)).toMatchObject({ lines: 3, refused: 0, complete: true })
  expect(stderr).toContain('trying again')
  expect([await statuses('X'), await statuses('Y')]).toEqual([[0, 1], [1]])
})
