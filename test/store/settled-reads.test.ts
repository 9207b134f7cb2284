import { expect, it } from 'vitest'
import { AppError } from '#src/lib/app-error.ts'
import { createProof } from '#src/store/shared/proof.ts'
import { storeErrors } from '#src/store/store.errors.ts'

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
  await expect(waiting).rejects.toMatchObject(refused)
  const again = settled(async () => 'row')
  expect(probes.map(({ durable }) => durable)).toEqual([true, true])
  probes[1]?.end()
  expect(await again).toBe('row')
})

it('a read during which the connection was lost is thrown away, even if something was stored before it ended', async () => {
  const { settled, distrust, watch } = controlled()
  const { promise, resolve } = Promise.withResolvers<string>()
  const reading = settled(() => promise)
  distrust()
  await watch(async () => undefined)
  resolve('a row of the server before')
  await expect(reading).rejects.toMatchObject(refused)
})
