import type { Static } from '@sinclair/typebox'
import type {
  AttemptsSchema,
  EndpointsSchema,
  EndpointWithSecretSchema,
  ReplayedSchema,
  ShownEndpointSchema,
  TestedSchema,
  ToldSchema,
} from '#src/webhook/endpoints/routes/endpoints.schema.ts'
import type { Standing } from '#src/webhook/endpoints/standing.ts'
import { foreign } from '../../lib/foreign.tsx'
import { ago, dateTime, decimal, duration, whole } from '../../lib/format.ts'
import { href } from '../../lib/route.ts'
import { type TextKey, t } from '../../lib/texts.ts'
import { HOLE, withForeign } from '../action-form.tsx'

export type Endpoints = Static<typeof EndpointsSchema>
export type Endpoint = Endpoints['Endpoints'][number]
export type ShownEndpoint = Static<typeof ShownEndpointSchema>
export type Attempts = Static<typeof AttemptsSchema>
export type Attempt = Attempts['Attempts'][number]
export type WithSecret = Static<typeof EndpointWithSecretSchema>
export type Tested = Static<typeof TestedSchema>
export type Replayed = Static<typeof ReplayedSchema>
export type Told = Static<typeof ToldSchema>

/** What each dialog gets. */
export interface Closing {
  readonly close: () => void
}

const LOOKS: Record<Standing, string> = { active: 'good', failing: 'failed', behind: 'warning', paused: 'warning' }

/** What an endpoint does, and why it is paused. */
export function StateBadge({ endpoint: { State, PausedReason } }: { readonly endpoint: Endpoint }) {
  const text =
    State === 'paused' && PausedReason !== null
      ? (`webhook.paused.${PausedReason}` as const)
      : (`word.${State}` as const)
  return <span class={`badge ${LOOKS[State]}`}>{t(text)}</span>
}

/** How much is pending, if need be as a lower bound. */
export const pending = ({ Pending, PendingAtLeast }: Endpoint): string =>
  PendingAtLeast ? t('webhook.pending.least', { count: whole(Pending) }) : whole(Pending)

/** When something is tried again: a time that has come is now. */
export const nextTry = (at: string | null) =>
  at && (
    <time dateTime={at} title={dateTime(at)}>
      {ago(Math.max(Date.parse(at), Date.now()))}
    </time>
  )

export const behind = ({ BehindSeconds }: Endpoint): string =>
  BehindSeconds === 0 ? t('webhook.notBehind') : duration(BehindSeconds)

export const milliseconds = (value: number): string =>
  t('now.milliseconds', { value: decimal(value, value < 10 ? 1 : 0) })

/** A delivery by its order, or by its receipt if it named none. It may have been removed since. */
export const DeliveryLink = ({ receipt, order }: { readonly receipt: string | null; readonly order: string | null }) =>
  receipt === null ? (
    <span class="note">{t('webhook.removed')}</span>
  ) : (
    <a href={href('delivery', [receipt])} title={receipt}>
      {order === null ? <code>{receipt}</code> : foreign(order)}
    </a>
  )

export const pathOf = (id: string, action = ''): string =>
  `/Webhook/endpoint/${encodeURIComponent(id)}${action && `/${action}`}`

/** A sentence about an endpoint, which it names by its URL. */
export const about = (key: TextKey, { URL: url }: Endpoint, values = {}) =>
  withForeign(t(key, { url: HOLE, ...values }), url)

export const counted = (number: number) => ({ number, count: whole(number) })
