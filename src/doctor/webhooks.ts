import type { Config } from '#src/config/load-config.ts'
import { AppError, reasonOf } from '#src/lib/app-error.ts'
import { type Clock, timeText } from '#src/lib/clock.ts'
import { HOUR_MILLISECONDS } from '#src/lib/duration.ts'
import { counted, listed } from '#src/lib/printable.ts'
import type { Random } from '#src/lib/random.ts'
import type { Store, Webhook } from '#src/store/store.ts'
import { createProgress, type Progress } from '#src/webhook/endpoints/progress.ts'
import { BEHIND_MILLISECONDS } from '#src/webhook/endpoints/standing.ts'
import { createWebhookSecrets } from '#src/webhook/webhook-secrets.ts'
import { type Check, failed, ok, warning } from './checks.ts'

const NAME = 'webhooks'

const PAUSED = [
  ['gone', 'since they answered 410', 'resume them, or remove them'],
  ['restored', 'since the store was restored or copied', 'teslim webhook resume ID'],
  ['operator', 'by an operator for more than an hour', 'teslim webhook resume ID'],
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
  const by = Object.groupBy(await createProgress({ store, clock })(all), ({ standing }) => standing)
  const found = [
    ...(await checkSecrets(all, config, random, now)),
    ...checkPaused(by.paused ?? [], now),
    ...checkFailing(by.failing ?? []),
    ...checkBehind(by.behind ?? []),
  ]
  const paused = by.paused === undefined ? '' : `, paused: ${named(by.paused)}`
  const message = `${counted(all.length, 'endpoint')}, none failing or behind${paused}`
  return found.length > 0 ? found : [ok(NAME, message)]
}

async function checkSecrets(all: readonly Webhook[], config: Config, random: Random, now: number): Promise<Check[]> {
  const { secret, formerSecret } = config
  const secrets = createWebhookSecrets({ secret, formerSecret, random })
  try {
    const other = (await secrets.wrappings(all, now)).filter((wrapping) => wrapping !== 'secret').length
    if (secret === '' || other === 0) return []
    const some = `${counted(other, 'secret')} ${other === 1 ? 'is' : 'are'}`
    return [warning(NAME, `${some} not encrypted under TESLIM_SECRET: run teslim signing-key rewrap`)]
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return [failed(NAME, reasonOf(error))]
  }
}

function checkPaused(all: readonly Progress[], now: number): Check[] {
  const long = all.filter(
    ({ webhook: { paused } }) => paused?.reason !== 'operator' || now - paused.at > HOUR_MILLISECONDS,
  )
  return PAUSED.flatMap(([reason, why, what]) => {
    const some = long.filter(({ webhook }) => webhook.paused?.reason === reason)
    return some.length === 0 ? [] : [warning(NAME, `paused, ${why}: ${named(some)}: ${what}`)]
  })
}

function checkFailing(failing: readonly Progress[]): Check[] {
  if (failing.length === 0) return []
  const text = ({ webhook: { failingSince, nextTryAt } }: Progress): string => {
    const since = failingSince === null ? '' : ` since ${timeText(failingSince)} UTC`
    return `${since}${nextTryAt === null ? '' : `, next try ${timeText(nextTryAt)} UTC`}`
  }
  return [warning(NAME, `failing: ${named(failing, text)}: see teslim webhook show ID`)]
}

function checkBehind(behind: readonly Progress[]): Check[] {
  if (behind.length === 0) return []
  const limit = `${BEHIND_MILLISECONDS / 60_000} minutes`
  return [warning(NAME, `behind by more than ${limit}: ${named(behind)}: see teslim webhook show ID`)]
}

const named = (some: readonly Progress[], text: (each: Progress) => string = () => ''): string =>
  listed(
    some.map((each) => `${each.webhook.id}${text(each)}`),
    5,
    '; ',
  )
