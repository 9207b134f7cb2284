import { hash } from 'node:crypto'
import { AppError } from '#src/lib/app-error.ts'
import { customerErased, storeErrors } from '../store.errors.ts'
import type { NewDelivery, Receipt } from '../store.ts'
import { receiptFromRow } from './rows.ts'

/** Half of a SHA-256. Taken from hexadecimal digits, because Node allocates the bytes of a hash outside of its heap. */
export const digestOf = (payload: Uint8Array): Buffer => Buffer.from(hash('sha256', payload, 'hex').slice(0, 32), 'hex')

/** The parameters of the statement that foresees a delivery, in both adapters. */
export const foresightValues = ({ customerId, idempotency, orderId, payload }: NewDelivery) =>
  [customerId, idempotency?.key ?? null, idempotency?.notBefore ?? 0, orderId, payload, digestOf(payload)] as const

/**
 * Reads the row of that statement: `erased`, and for a duplicate the columns of its receipt; `same` says whether the bytes that
 * came with the idempotency key before are the same.
 */
export function foresightFromRow(row: Readonly<Record<string, unknown>> | undefined): Receipt | undefined {
  if (row === undefined) throw new Error('no such customer')
  if (row.erased) throw new AppError(customerErased)
  if (row.receipt === null) return undefined
  if (!row.same) throw new AppError(storeErrors.idempotencyKeyReused)
  return { ...receiptFromRow(row), duplicate: true }
}
