import { expect, it } from 'vitest'
import { AppError } from '#src/lib/app-error.ts'
import { createProof } from '#src/store/proof.ts'
import { storeErrors } from '#src/store/store.errors.ts'
import { until } from '../support/until.ts'

/** A proof whose probes end when they are told to. */
function controlled() {
  const probes: { readonly durable: boolean; readonly end: () => void }[] = []
  const proof = createProof({
    probe: (durable) => {
      const { promise, resolve } = Promise.withResolvers<void>()
      probes.push({ durable, end: resolve })
      return promise
    },
    explain: async () => undefined,
    refusal: (reason) => new AppError(storeErrors.unavailable, { reason }),
  })
  return { ...proof, probes }
}

const refused = { code: 'STORE_UNAVAILABLE' }

it('what followers read is read without a probe while nothing was lost', async () => {
  const { settled, probes } = controlled()
  expect(await settled(async () => 'row')).toBe('row')
  expect(probes).toEqual([])
})

it('after a loss followers read nothing before a durable write, and then without another one', async () => {
  const { settled, distrust, watch, probes } = controlled()
  distrust()
  let reads = 0
  const read = async () => ++reads
  const waiting = settled(read)
  expect([probes.map(({ durable }) => durable), reads]).toEqual([[true], 0])
  probes[0]?.end()
  expect([await waiting, await settled(read), probes.length]).toEqual([1, 2, 1])
  // A batch does as well as a probe.
  distrust()
  await watch(async () => undefined)
  expect([await settled(read), probes.length]).toEqual([3, 1])
})

it('a write that began before the loss settles nothing, and the next probe is durable again', async () => {
  const { settled, distrust, watch, probes } = controlled()
  const { promise, resolve } = Promise.withResolvers<void>()
  const write = watch(() => promise)
  distrust()
  resolve()
  await write
  const waiting = settled(async () => 'row')
  expect(probes.map(({ durable }) => durable)).toEqual([true])
  distrust()
  probes[0]?.end()
  await until('there is another probe', () => probes.length === 2)
  expect(probes.map(({ durable }) => durable)).toEqual([true, true])
  probes[1]?.end()
  expect(await waiting).toBe('row')
})

it('what was read while the connection was lost is thrown away, even if something was stored before it ended, and read again', async () => {
  const { settled, distrust, watch } = controlled()
  const { promise, resolve } = Promise.withResolvers<string>()
  const answers = [promise, Promise.resolve('a row of the server after')]
  const reading = settled(() => answers.shift() as Promise<string>)
  distrust()
  await watch(async () => undefined)
  resolve('a row of the server before')
  expect(await reading).toBe('a row of the server after')
})

it('whoever reads anew refuses nobody else, however many do at once', async () => {
  const { settled, distrust, probes } = controlled()
  const reads = Array.from({ length: 100 }, async (_, number) => {
    distrust()
    return settled(async () => number)
  })
  for (let ended = 0; ended < 3; ended++) {
    await until('there is a probe', () => probes.length > ended || ended > 1, { milliseconds: 1000 })
    probes[ended]?.end()
  }
  expect(await Promise.all(reads)).toEqual(Array.from({ length: 100 }, (_, number) => number))
})

it('where a connection is lost again and again, what is read is refused in the end', async () => {
  const { settled, distrust, watch } = controlled()
  const reading = settled(async () => {
    distrust()
    await watch(async () => undefined)
    return 'row'
  })
  await expect(reading).rejects.toMatchObject(refused)
})
