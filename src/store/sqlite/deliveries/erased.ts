import { hash } from 'node:crypto'
import { withoutSender } from '#src/store/sql/deliveries/origins.ts'

interface Content {
  readonly payload: Uint8Array
  readonly origin: Uint8Array | null
}

/** Returns what is left of a payload: its digest, as valid JSON, unless that would be longer. */
function remains(payload: Uint8Array): string {
  const digest = `{"SHA256":"${hash('sha256', payload, 'hex')}"}`
  return digest.length <= payload.length ? digest : '{}'
}

/** Returns what stands in place of payload and origin once they are erased, of the same lengths. */
export const erasedContent = ({ payload, origin }: Content): Content => ({
  payload: Buffer.from(remains(payload).padEnd(payload.length)),
  origin: origin && withoutSender(origin),
})

/** Whether this was the payload that is erased now, as far as a digest is left to tell. */
export const wasPayload = (erased: Uint8Array, payload: Uint8Array): boolean =>
  Buffer.from(erased).toString('latin1').trimEnd() === remains(payload)
