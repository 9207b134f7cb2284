import type { Config } from '#src/config/load-config.ts'
import { counted } from '#src/lib/printable.ts'
import type { Store } from '#src/store/store.ts'
import type { Wrapping } from '#src/token/key-sealing.ts'
import { signingKeyRules } from '#src/token/open-signing-keys.ts'
import type { CliContext } from '../command.ts'
import type { Times } from '../output/times.ts'

/** What a store holds, and which secret it needs. */
export interface Contents {
  readonly lastDelivery: { readonly receiptId: string; readonly receivedAt: number } | undefined
  readonly lastPosition: number
  readonly signingKeys: number
  /** Endpoints of webhooks, and those whose secrets cannot be opened. */
  readonly endpoints: number
  readonly endpointsNotOpened: number
  readonly secret: 'TESLIM_SECRET' | 'TESLIM_SECRET_OLD' | 'none'
}

/** Rejects if a signing key cannot be opened. An endpoint whose secret is lost does not hold up a restore. */
export async function contentsOf(store: Store, config: Config, context: CliContext): Promise<Contents> {
  const ofKeys = await (await signingKeyRules(store, config, context)).wrappings()
  const ofEndpoints = await endpointWrappings(store, config, context)
  const wrappings = [...ofKeys, ...ofEndpoints.flatMap((each) => each ?? [])]
  const lastPosition = await store.deliveries.lastPosition()
  const bounds = { limit: 1, scan: 1 }
  const [last] = lastPosition === 0 ? [] : (await store.deliveries.after(lastPosition - 1, {}, bounds)).deliveries
  return {
    lastDelivery: last,
    lastPosition,
    signingKeys: ofKeys.length,
    endpoints: ofEndpoints.length,
    endpointsNotOpened: ofEndpoints.filter((each) => each === undefined).length,
    secret: wrappings.includes('former')
      ? 'TESLIM_SECRET_OLD'
      : wrappings.includes('secret')
        ? 'TESLIM_SECRET'
        : 'none',
  }
}

/** How the secrets of each endpoint are stored; undefined where one cannot be opened. */
async function endpointWrappings(store: Store, config: Config, { clock, random }: CliContext) {
  const { createWebhookSecrets } = await import('#src/webhook/webhook-secrets.ts')
  const { secret, formerSecret } = config
  const secrets = createWebhookSecrets({ secret, formerSecret, random })
  // A backup of an earlier version has no endpoints.
  const all = await store.webhooks.list().catch(() => [])
  const found: (Wrapping[] | undefined)[] = []
  for (const webhook of all) found.push(await secrets.wrappings([webhook], clock.now()).catch(() => undefined))
  return found
}

export const contentsJson = ({ lastDelivery, signingKeys, endpoints, endpointsNotOpened, secret }: Contents) => ({
  lastReceiptId: lastDelivery?.receiptId ?? null,
  lastReceivedAt: lastDelivery === undefined ? null : new Date(lastDelivery.receivedAt).toISOString(),
  signingKeys,
  ...(endpoints > 0 && { endpoints, endpointsNotOpened }),
  secret,
})

export function contentsText(contents: Contents, times: Times): string {
  const { lastDelivery, signingKeys, endpoints, endpointsNotOpened, secret } = contents
  const last =
    lastDelivery === undefined
      ? 'It has no deliveries.'
      : `Its last delivery is ${lastDelivery.receiptId} of ${times.stamp(lastDelivery.receivedAt)}.`
  const opened = endpoints - endpointsNotOpened
  const lines = [last]
  if (signingKeys + opened > 0 || endpointsNotOpened === 0) lines.push(secretText(signingKeys, opened, secret))
  if (endpointsNotOpened > 0)
    lines.push(
      `The secrets of ${counted(endpointsNotOpened, 'endpoint')} cannot be opened: set the TESLIM_SECRET of then, or replace the endpoints.`,
    )
  return lines.join('\n')
}

function secretText(signingKeys: number, endpoints: number, secret: Contents['secret']): string {
  if (signingKeys + endpoints === 0) return 'It has no signing keys, so it needs no secret.'
  const what =
    endpoints === 0
      ? `Its signing keys (${signingKeys})`
      : `Its signing keys (${signingKeys}) and the secrets of its endpoints (${endpoints})`
  return secret === 'none'
    ? `${what} are unencrypted: it needs no secret.`
    : `${what} are encrypted under ${secret}, which opens them: keep that secret.`
}
