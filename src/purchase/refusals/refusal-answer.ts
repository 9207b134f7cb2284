import { isoMilliseconds } from '#src/lib/clock.ts'
import { type Message, messageAnswer, textOf } from '#src/lib/messages/message.ts'
import type { Refusal } from '#src/store/store.ts'

/** Returns the fields that a supplier may see. */
export const refusalAnswer = (refusal: Refusal) => ({
  RefusalID: refusal.refusalId,
  RefusedAt: isoMilliseconds(refusal.at),
  ErrorCode: refusal.errorCode,
  ...messageAnswer(refusal.message),
  ...(refusal.orderId !== null && { OrderID: refusal.orderId }),
  RequestID: refusal.requestId ?? '',
  ...(refusal.keyId !== null && { KeyID: refusal.keyId }),
  ...(refusal.keyLabel !== null && { KeyLabel: refusal.keyLabel }),
  ...(refusal.payloadBytes !== null && { PayloadBytes: refusal.payloadBytes }),
})

/** Reasons that repeat the message. */
const REPEATED = ['PROBLEMS', 'NO_PRODUCT']

/** Returns what operators have to know beyond the message, such as whether an API key was revoked or has expired. */
export const reasonOf = ({ reason }: Refusal): Message | undefined =>
  reason === null || typeof reason === 'string' || REPEATED.includes(reason.code) ? undefined : reason

/** Returns the fields that only operators may see. */
export function reasonAnswer(refusal: Refusal) {
  const reason = reasonOf(refusal)
  return reason && { Reason: textOf(reason), ReasonCode: reason.code, ReasonValues: reason.values }
}

/** Returns the fields for callers with a token: only who sees all learns the reason. */
export const callerAnswer = (refusal: Refusal, { seesAll }: { readonly seesAll: boolean }) => ({
  ...refusalAnswer(refusal),
  CustomerID: refusal.customerId,
  ...(seesAll && reasonAnswer(refusal)),
})

/** What the supplier was told, and for operators the reason. */
export function whyRefused(refusal: Refusal): string {
  const reason = reasonOf(refusal)
  return `${textOf(refusal.message)}${reason === undefined ? '' : ` (${textOf(reason)})`}`
}
