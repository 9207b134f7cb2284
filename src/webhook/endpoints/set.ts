import { AppError } from '#src/lib/app-error.ts'
import type { Clock } from '#src/lib/clock.ts'
import type { Webhook, WebhookChange, WebhookStore } from '#src/store/store.ts'
import { changedHeaders, checkHeaders, checkOrigin, type NamedHeader } from '../headers.ts'
import { webhookErrors } from '../webhook.errors.ts'
import type { WebhookSecrets } from '../webhook-secrets.ts'
import { readAuthority } from './authority.ts'
import type { DescribedEndpoint } from './describe.ts'

/** A setting that is undefined stays as it is; null means none, or all. */
export interface EndpointChange {
  readonly url?: string | undefined
  /** E-mail address or id. */
  readonly customer?: string | null | undefined
  readonly statuses?: readonly number[] | null | undefined
  readonly duplicates?: boolean | undefined
  readonly giveUpMilliseconds?: number | null | undefined
  /** Certificates in PEM. */
  readonly ca?: string | null | undefined
  /** Headers that are set or removed; others stay. */
  readonly headers?: readonly NamedHeader[] | undefined
}

export interface SetDependencies {
  readonly webhooks: Pick<WebhookStore, 'change'>
  readonly secrets: Pick<WebhookSecrets, 'wrappings' | 'sealHeaders'>
  readonly clock: Clock
  readonly checkUrl: (url: string) => Promise<string>
  readonly find: (id: string) => Promise<Webhook>
  readonly customerOf: (who: string) => Promise<string>
  readonly describe: (webhook: Webhook) => Promise<DescribedEndpoint>
}

/** Concurrent changes are rare: losing more often than this means a defect. */
const MAX_TRIES = 10

/** Statuses as they are stored. */
export const inOrder = (statuses: readonly number[]): number[] => [...new Set(statuses)].sort()

const mapped = <From, To>(value: From | null | undefined, map: (value: From) => To): To | null | undefined => {
  if (value === undefined) return undefined
  return value === null ? null : map(value)
}

/** Changes settings of an endpoint. Its secret and its place stay, and what waits in the store is still sent, whatever the new filter says. */
export function createSet({ webhooks, secrets, clock, checkUrl, find, customerOf, describe }: SetDependencies) {
  const settingsOf = async (wanted: EndpointChange): Promise<WebhookChange> => ({
    url: wanted.url === undefined ? undefined : await checkUrl(wanted.url),
    customerId: await mapped(wanted.customer, customerOf),
    statuses: mapped(wanted.statuses, inOrder),
    duplicates: wanted.duplicates,
    giveUpMilliseconds: wanted.giveUpMilliseconds,
    ca: mapped(wanted.ca, readAuthority),
  })

  const headersOf = async (webhook: Webhook, headers: readonly NamedHeader[]): Promise<string | null> => {
    // Servers could not use a header that is sealed under a wrong secret.
    await secrets.wrappings([webhook], clock.now())
    const sealed = await secrets.sealHeaders(webhook.id, headers)
    return changedHeaders(webhook.headers, sealed)
  }

  return async (id: string, wanted: EndpointChange): Promise<DescribedEndpoint> => {
    await find(id)
    checkHeaders(wanted.headers ?? [])
    const settings = await settingsOf(wanted)
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const webhook = await find(id)
      const { headers: from } = webhook
      checkOrigin(webhook.url, settings.url ?? webhook.url, from, wanted.headers ?? [])
      const to = wanted.headers ? await headersOf(webhook, wanted.headers) : from
      const changed = await webhooks.change(webhook.id, { ...settings, headers: { from, to } })
      // Somebody else has changed the headers meanwhile, or removed the endpoint.
      if (changed !== undefined) return describe(changed)
    }
    throw new AppError(webhookErrors.changedMeanwhile)
  }
}
