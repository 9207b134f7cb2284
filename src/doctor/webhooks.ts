import type { Config } from '#src/config/load-config.ts'
import { AppError } from '#src/lib/app-error.ts'
import type { Clock } from '#src/lib/clock.ts'
import { counted } from '#src/lib/printable.ts'
import type { Random } from '#src/lib/random.ts'
import type { Store, Webhook } from '#src/store/store.ts'
import { createProgress, type Progress } from '#src/webhook/endpoints/progress.ts'
import { createWebhookSecrets } from '#src/webhook/webhook-secrets.ts'
import type { Check } from './checks.ts'

const NAME = 'webhooks'
const HOUR_MILLISECONDS = 3_600_000
const DAY_MILLISECONDS = 86_400_000
const MAX_NAMED = 5

const PAUSED = [
  ['gone', 'since they answered 410', 'resume them, or remove them'],
  ['restored', 'since the store was restored or copied', 'teslim webhook resume ID'],
  ['operator', 'by an operator for more than an hour', 'teslim webhook resume ID'],
] as const

const warning = (message: string): Check => ({ name: NAME, status: 'warning', message })

/** Checks the endpoints to which deliveries are sent. A store without endpoints has nothing to say. */
export async function checkWebhooks(
  store: Store,
  config: Config,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
): Promise<Check[]> {
  const all = await store.webhooks.list()
  if (all.length === 0) return []
  const now = clock.now()
  const progress = await createProgress({ store, clock })(all)
  const found = [
    ...(await checkSecrets(all, config, random, now)),
    ...checkPaused(all, now),
    ...checkFailing(all, now),
    ...checkBehind(progress, config),
  ]
  const sent = all.filter(({ paused }) => paused === null).length
  const message = `${counted(all.length, 'endpoint')}, ${sent} of them active; none is failing or far behind`
  return found.length > 0 ? found : [{ name: NAME, status: 'ok', message }]
}

async function checkSecrets(all: readonly Webhook[], config: Config, random: Random, now: number): Promise<Check[]> {
  const { secret, formerSecret } = config
  const secrets = createWebhookSecrets({ secret, formerSecret, random })
  try {
    const other = (await secrets.wrappings(all, now)).filter((wrapping) => wrapping !== 'secret').length
    if (secret === '' || other === 0) return []
    const some = `${counted(other, 'secret')} ${other === 1 ? 'is' : 'are'}`
    return [warning(`${some} not encrypted under TESLIM_SECRET: run teslim signing-key rewrap`)]
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return [{ name: NAME, status: 'failed', message: error.details.reason ?? error.message }]
  }
}

function checkPaused(all: readonly Webhook[], now: number): Check[] {
  const long = all.filter(({ paused }) => paused?.reason !== 'operator' || now - paused.at > HOUR_MILLISECONDS)
  return PAUSED.flatMap(([reason, why, what]) => {
    const some = long.filter(({ paused }) => paused?.reason === reason)
    return some.length === 0 ? [] : [warning(`paused, ${why}: ${named(some)}: ${what}`)]
  })
}

function checkFailing(all: readonly Webhook[], now: number): Check[] {
  const failing = all.filter(
    ({ paused, failingSince }) => paused === null && failingSince !== null && now - failingSince > HOUR_MILLISECONDS,
  )
  if (failing.length === 0) return []
  return [warning(`failing for more than an hour: ${named(failing)}: see teslim webhook show ID`)]
}

function checkBehind(all: readonly Progress[], { retentionDays }: Config): Check[] {
  if (retentionDays === 0) return []
  const limit = (retentionDays * DAY_MILLISECONDS) / 2
  const behind = all.filter(({ behindMilliseconds }) => behindMilliseconds > limit).map(({ webhook }) => webhook)
  if (behind.length === 0) return []
  const message = `behind by more than half of TESLIM_RETENTION_DAYS (${retentionDays}), after which deliveries are removed: ${named(behind)}`
  return [warning(message)]
}

function named(some: readonly Webhook[]): string {
  const more = some.length > MAX_NAMED ? `, and ${some.length - MAX_NAMED} more` : ''
  return `${some
    .slice(0, MAX_NAMED)
    .map(({ id }) => id)
    .join(', ')}${more}`
}
