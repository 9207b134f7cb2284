import fc from 'fast-check'
import { expect, it } from 'vitest'
import { AppError } from '#src/lib/app-error.ts'
import { createBatcher } from '#src/lib/batcher.ts'
import { createUploads, type UploadConnection } from '#src/purchase/intake/upload.rule.ts'
import { purchaseErrors } from '#src/purchase/purchase.errors.ts'
import type { Supplier } from '#src/purchase/suppliers.ts'
import { storeErrors } from '#src/store/store.errors.ts'
import type { Receipt, Sequence } from '#src/store/store.ts'
import { runs } from '../../support/random-runs.ts'

/** A line names its order by a letter; a hyphen is none, and a small letter is refused. */
const lines = fc.array(fc.constantFrom('A', 'A', 'B', 'C', '-', 'a'), { minLength: 1, maxLength: 40 })
const steps = fc.array(
  fc.oneof(
    lines.map((sent) => ({ sent })),
    fc.record({ place: fc.nat(1), fails: fc.boolean() }),
  ),
  { minLength: 2, maxLength: 15 },
)

const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 4; turn++) await new Promise(setImmediate)
}

/** An upload to a store whose commits end when the test says so. */
function openUpload() {
  const commits: { count: number; end: PromiseWithResolvers<readonly Receipt[]> }[] = []
  const receipt: Receipt = { receiptId: 'r', status: 1, orderId: null, duplicate: false, receivedAt: 0 }
  const store = createBatcher<string, Receipt>({
    bytesOf: ({ length }) => length,
    maxItems: 100,
    maxBytes: 1e6,
    whenFull: () => new AppError(storeErrors.overloaded),
    maxWaitMilliseconds: 60_000,
    monotonic: () => 0,
    commit({ length: count }) {
      const end = Promise.withResolvers<readonly Receipt[]>()
      commits.push({ count, end })
      return end.promise
    },
  })
  const sequences: (Sequence | undefined)[] = []
  const take = createUploads({
    intake: {
      deliver(_supplier, { payload }, _origin, sequence) {
        sequences.push(sequence)
        if (String(payload) === 'a') throw new AppError(purchaseErrors.notAuthorized)
        return store.submit(String(payload), sequence)
      },
      validate: async () => receipt,
    },
    reader: {
      parse(payload) {
        const orderId = String(payload) === '-' ? null : String(payload).toUpperCase()
        return { status: 1, orderId, products: [], warnings: [], payload: payload as Buffer, idempotencyKey: undefined }
      },
    },
    readLine: (body) => ({ body, idempotencyKey: undefined }),
    bodyLimitBytes: 100,
    takeAllowance: () => undefined,
    storeHasCapacity: () => true,
    patienceMilliseconds: 60_000,
    clock: { now: () => 0, monotonic: () => 0 },
  })

  const taken: string[] = []
  const pieces: string[] = []
  let isWhole = false
  let reason: AppError | undefined
  let wake = (): void => undefined
  const answers: string[] = []
  const check = (): void => {
    if (reason) throw reason
  }
  const connection: UploadConnection = {
    origin: { keyId: 'k', address: '192.0.2.1', requestId: 'r' },
    async next() {
      while (pieces.length === 0 && !isWhole && !reason) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
      check()
      const piece = pieces.shift()
      return piece === undefined ? undefined : Buffer.from(piece)
    },
    check,
    endFor(error) {
      reason ??= error
      wake()
    },
    isGone: () => false,
    pause: async () => undefined,
    write(text) {
      answers.push(...text.split('\n').slice(0, -1))
      return true
    },
    cut: () => undefined,
    end: () => undefined,
    identify: async () => ({ key: {} }) as Supplier,
    received: () => 'stored\n',
    validated: () => '',
    refused: (line, error) => (line === null ? '' : `${(error as AppError).code}\n`),
  }
  const ended = take(connection, { key: {} } as Supplier, false)
  return {
    commits,
    /** Those of the lines, in their order. */
    sequences,
    /** Resolves to the order and the outcome of each line that was taken. */
    async outcomes(): Promise<(readonly [string, string])[]> {
      isWhole = true
      wake()
      await settle()
      while (commits.length > 0) await this.end(0, false)
      await ended
      return answers.map((answer, index) => [taken[index] as string, answer])
    },
    send(sent: readonly string[]): void {
      taken.push(...sent)
      pieces.push(sent.map((line) => `${line}\n`).join(''))
      wake()
    },
    async end(place: number, fails: boolean): Promise<void> {
      const [commit] = commits.splice(place, 1)
      if (fails) commit?.end.reject(new AppError(storeErrors.unavailable))
      else commit?.end.resolve(Array(commit.count).fill(receipt))
      await settle()
    },
  }
}

it('whatever fails, no line of an upload is stored after an earlier one of its order failed, and a refused line stops none', async () => {
  let [failures, followers, refusals] = [0, 0, 0]
  await fc.assert(
    fc.asyncProperty(steps, async (drawn) => {
      const upload = openUpload()
      for (const step of drawn) {
        if ('sent' in step) upload.send(step.sent)
        else await upload.end(step.place, step.fails)
        await settle()
      }
      const outcomes = await upload.outcomes()
      for (const order of ['A', 'B', 'C']) {
        const all = outcomes.filter(([line]) => line === order).map(([, outcome]) => outcome)
        const failed = all.findIndex((outcome) => outcome !== 'stored')
        if (failed < 0) continue
        failures++
        followers += all.length - failed - 1
        expect(new Set(all.slice(failed))).toEqual(new Set(['STORE_UNAVAILABLE']))
      }
      for (const [line, outcome] of outcomes)
        if (line === 'a') {
          refusals++
          expect(outcome).toBe('PRODUCT_NOT_AUTHORIZED')
        }
    }),
    { numRuns: runs(100) },
  )
  expect([failures > 10, followers > 10, refusals > 10]).toEqual([true, true, true])
})

it('an upload holds nothing of an order that has no line under way', async () => {
  const upload = openUpload()
  upload.send(['a', 'A', 'A'])
  await settle()
  await upload.end(0, false)
  upload.send(['A', '-'])
  await upload.outcomes()
  const [, first, second, later, none] = upload.sequences
  expect([second === first, later === first, none]).toEqual([true, false, undefined])
})
