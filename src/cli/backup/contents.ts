import type { Config } from '#src/config/load-config.ts'
import { lastPositionOf } from '#src/purchase/cursors.ts'
import type { Store } from '#src/store/store.ts'
import { signingKeyRules } from '#src/token/open-signing-keys.ts'
import type { CliContext } from '../command.ts'

/** What a store holds, and which secret it needs. */
export interface Contents {
  readonly lastDelivery: { readonly receiptId: string; readonly receivedAt: number } | undefined
  readonly lastPosition: number
  readonly signingKeys: number
  readonly secret: 'TESLIM_SECRET' | 'TESLIM_SECRET_OLD' | 'none'
}

/** Rejects if a signing key cannot be opened. */
export async function contentsOf(store: Store, config: Config, context: CliContext): Promise<Contents> {
  const wrappings = await (await signingKeyRules(store, config, context)).wrappings()
  const lastPosition = await lastPositionOf(store.deliveries)
  const bounds = { most: 1, look: 1 }
  const [last] = lastPosition === 0 ? [] : (await store.deliveries.after(lastPosition - 1, {}, bounds)).deliveries
  return {
    lastDelivery: last,
    lastPosition,
    signingKeys: wrappings.length,
    secret: wrappings.includes('former')
      ? 'TESLIM_SECRET_OLD'
      : wrappings.includes('secret')
        ? 'TESLIM_SECRET'
        : 'none',
  }
}

export const contentsJson = ({ lastDelivery, signingKeys, secret }: Contents) => ({
  lastReceiptId: lastDelivery?.receiptId ?? null,
  lastReceivedAt: lastDelivery === undefined ? null : new Date(lastDelivery.receivedAt).toISOString(),
  signingKeys,
  secret,
})

export function contentsText({ lastDelivery, signingKeys, secret }: Contents): string {
  const last =
    lastDelivery === undefined
      ? 'It has no deliveries.'
      : `Its last delivery is ${lastDelivery.receiptId} of ${new Date(lastDelivery.receivedAt).toISOString()}.`
  const keys =
    signingKeys === 0
      ? 'It has no signing keys, so it needs no secret.'
      : secret === 'none'
        ? `Its signing keys (${signingKeys}) are unencrypted: it needs no secret.`
        : `Its signing keys (${signingKeys}) are encrypted under ${secret}, which opens them: keep that secret.`
  return `${last}\n${keys}`
}
