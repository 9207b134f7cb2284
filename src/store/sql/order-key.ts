import { hash } from 'node:crypto'

/** Stands for an order id that was erased from a file. */
export const ERASED_KEY = 255
const FIRST_KEY = 256
const KEYS = 32_512

/**
 * Returns a number by which refusals of an order are found among those of a few others. An index on order ids would leave copies of erased ones
 * in unused parts of its pages; of this number nobody can tell the order. It always takes two bytes of a row in a file, so that it can be
 * overwritten in place.
 */
export const orderKey = (orderId: string): number =>
  FIRST_KEY + (hash('sha256', orderId, 'buffer').readUInt16BE() % KEYS)
