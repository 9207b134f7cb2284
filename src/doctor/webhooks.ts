import type { Config } from '#src/config/load-config.ts'
import { AppError, whyFailed } from '#src/lib/app-error.ts'
import { type Clock, isoMilliseconds } from '#src/lib/clock.ts'
import { HOUR_MILLISECONDS } from '#src/lib/duration.ts'
import { few, type Message, message } from '#src/lib/messages/message.ts'
import type { Random } from '#src/lib/random.ts'
import type { Store, Webhook } from '#src/store/store.ts'
import { createProgress, type Progress } from '#src/webhook/endpoints/progress.ts'
import { BEHIND_MILLISECONDS } from '#src/webhook/endpoints/standing.ts'
import { createWebhookSecrets } from '#src/webhook/webhook-secrets.ts'
import { type Check, failed, ok, warning } from './checks.ts'

const NAME = 'webhooks'

const PAUSED = [
  ['gone', 'WEBHOOKS_GONE'],
  ['restored', 'WEBHOOKS_RESTORED'],
  ['operator', 'WEBHOOKS_PAUSED'],
] as const

/** Checks the endpoints to which deliveries are sent. A store without endpoints has nothing to say. */
export async function checkWebhooks(
  store: Store,
  config: Config,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
): Promise<Check[]> {
  const all = await store.webhooks.list()
  if (all.length === 0) return []
  const now = clock.now()
  const by = Object.groupBy(await createProgress(store, clock)(all), ({ standing }) => standing)
  const found = [
    ...(await checkSecrets(all, config, random, now)),
    ...checkPaused(by.paused ?? [], now),
    ...checkFailing(by.failing ?? []),
    ...checkBehind(by.behind ?? []),
  ]
  if (found.length > 0) return found
  const count = all.length
  if (by.paused === undefined) return [ok(NAME, 'WEBHOOKS_SOUND', { count })]
  return [ok(NAME, 'WEBHOOKS_SOUND_BUT_PAUSED', { count, paused: by.paused.map(idOf) })]
}

async function checkSecrets(all: readonly Webhook[], config: Config, random: Random, now: number): Promise<Check[]> {
  const { secret, formerSecret } = config
  const secrets = createWebhookSecrets({ secret, formerSecret, random })
  try {
    const count = (await secrets.wrappings(all, now)).filter((wrapping) => wrapping !== 'secret').length
    return secret === '' || count === 0 ? [] : [warning(NAME, 'WEBHOOK_SECRETS_TO_REWRAP', { count })]
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return [failed(NAME, 'WEBHOOK_SECRETS_FAILED', { reason: whyFailed(error) })]
  }
}

function checkPaused(all: readonly Progress[], now: number): Check[] {
  const long = all.filter(
    ({ webhook: { paused } }) => paused?.reason !== 'operator' || now - paused.at > HOUR_MILLISECONDS,
  )
  return PAUSED.flatMap(([reason, code]) => {
    const endpoints = long.filter(({ webhook }) => webhook.paused?.reason === reason).map(idOf)
    return endpoints.length === 0 ? [] : [warning(NAME, code, { endpoints: few(endpoints) })]
  })
}

function checkFailing(failing: readonly Progress[]): Check[] {
  if (failing.length === 0) return []
  const endpoints = failing.map(({ webhook: { id, failingSince: since, nextTryAt: at } }): string | Message => {
    const endpoint = since === null ? id : message('WEBHOOK_SINCE', { id, since: isoMilliseconds(since) })
    return at === null ? endpoint : message('WEBHOOK_NEXT_TRY', { endpoint, at: isoMilliseconds(at) })
  })
  return [warning(NAME, 'WEBHOOKS_FAILING', { endpoints: few(endpoints) })]
}

function checkBehind(behind: readonly Progress[]): Check[] {
  if (behind.length === 0) return []
  return [warning(NAME, 'WEBHOOKS_BEHIND', { minutes: BEHIND_MILLISECONDS / 60_000, endpoints: few(behind.map(idOf)) })]
}

const idOf = ({ webhook: { id } }: Progress): string => id
