/** Where an endpoint's deliveries go, and which. */
interface WebhookSettings {
  readonly url: string
  /** Only deliveries of this customer; null for all customers. */
  readonly customerId: string | null
  /** Only deliveries with one of these Statuses; null for all. */
  readonly statuses: readonly number[] | null
  /** Whether duplicates are sent, too. */
  readonly duplicates: boolean
  /** The certificate authority of the endpoint, as PEM; null for those that Node trusts. */
  readonly ca: string | null
  /** How long a delivery may fail before it is set aside; null for as long as it takes. */
  readonly giveUpMilliseconds: number | null
}

/** Which deliveries an endpoint gets. */
export type WebhookFilter = Pick<WebhookSettings, 'customerId' | 'statuses' | 'duplicates'>

export interface FormerWebhookFilter extends WebhookFilter {
  /** It was in force up to this position; null until the process that pushes loads the change. */
  readonly until: number | null
}

/** Whether an endpoint gets a delivery. Customers are compared by their ids, or inside of a store by their numbers. */
export const isWanted = <Id>(
  { customerId, statuses, duplicates }: Omit<WebhookFilter, 'customerId'> & { readonly customerId: Id | null },
  delivery: { readonly customerId: Id; readonly status: number; readonly duplicate: boolean },
): boolean =>
  (customerId === null || customerId === delivery.customerId) &&
  (statuses?.includes(delivery.status) ?? true) &&
  (duplicates || !delivery.duplicate)

export interface NewWebhook extends WebhookSettings {
  /** A version 7 UUID. */
  readonly id: string
  readonly createdAt: number
  /** Sealed. */
  readonly secret: string
  /** Deliveries up to here were taken from the feed: confirmed, left out by the filter, waiting or set aside. */
  readonly position: number
}

/** Why an endpoint is paused: by an operator, because it answered 410, with its customer, or with a restored or copied store. */
export const WEBHOOK_PAUSES = ['operator', 'gone', 'customer-removed', 'restored'] as const
export type WebhookPause = (typeof WEBHOOK_PAUSES)[number]

export interface Webhook extends NewWebhook {
  /** Headers of its own that every request has: sealed values by name, as JSON. Null for none. */
  readonly headers: string | null
  /** Filters that were changed, the oldest first: the last 100. What was left out, or confirmed long ago, was so by the filter of its position. */
  readonly formerFilters: readonly FormerWebhookFilter[]
  /** The secret before the last rotation, which signs, too, until then. */
  readonly formerSecret: { readonly sealed: string; readonly until: number } | null
  readonly paused: { readonly reason: WebhookPause; readonly at: number } | null
  /** Rises with every change by operators, replays included: its holder loads it again. */
  readonly version: number
  readonly lastSuccessAt: number | null
  /** Since when, without a break, something has failed that still waits; null if nothing does. */
  readonly failingSince: number | null
  /** When the next attempt is due if nothing new comes in; null if there is nothing to try again. */
  readonly nextTryAt: number | null
  /** When an endpoint that does not answer is tried next; null if it answers. */
  readonly silentUntil: number | null
  /** Deliveries that wait in the store and are not set aside. Like the next three a counter, however many there are. */
  readonly waiting: number
  /** Those of them that have failed. Of an order only the first can. */
  readonly failing: number
  readonly setAside: number
  /** Deliveries that purges have removed before they were sent. It never falls. */
  readonly removedUnsent: number
  readonly replay: WebhookReplay | null
}

type ChangedSettings = { readonly [Name in keyof WebhookSettings]?: WebhookSettings[Name] | undefined }

/** A setting that is undefined stays as it is. */
export interface WebhookChange extends ChangedSettings {
  /** Nothing at all is changed if the headers are no longer `from`. */
  readonly headers?: { readonly from: string | null; readonly to: string | null } | undefined
  readonly paused?: { readonly reason: WebhookPause; readonly at: number } | null | undefined
  readonly secret?: string | undefined
  readonly formerSecret?: { readonly sealed: string; readonly until: number } | null | undefined
}

/** Adds what lies in a stretch of the feed to what waits, a little at a time. */
export interface NewWebhookReplay {
  /** Deliveries after this position, */
  readonly from: number
  /** up to this one, which is not after that of the endpoint: what comes then is sent anyway. */
  readonly until: number
  /** Only deliveries with one of these Statuses; null for all that the endpoint wants. */
  readonly statuses: readonly number[] | null
  readonly beganAt: number
}

export interface WebhookReplay extends NewWebhookReplay {
  /** Up to here it was read. */
  readonly position: number
  /** Deliveries that it has added. */
  readonly added: number
}
