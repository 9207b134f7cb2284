import { createHash } from 'node:crypto'
import { inject } from 'vitest'

let count = 0

/** The next bytes of the run's seed: each file sees the same ones whenever TEST_SEED is the same. */
export function randomBytes(length: number): Buffer {
  return createHash('shake256', { outputLength: length })
    .update(`${inject('seed')}:${count++}`)
    .digest()
}

/** Fractions from 0 up to, but not including, 1: a sequence of its own, which depends on the run's seed and its name only. */
export function fractions(name: string): () => number {
  let drawn = 0
  return () =>
    createHash('shake256', { outputLength: 6 })
      .update(`${inject('seed')}:${name}:${drawn++}`)
      .digest()
      .readUIntBE(0, 6) /
    2 ** 48
}

/** A whole number from 0 up to, but not including, `limit`. */
export const randomBelow = (limit: number): number => Math.floor((randomBytes(4).readUInt32BE() / 2 ** 32) * limit)
