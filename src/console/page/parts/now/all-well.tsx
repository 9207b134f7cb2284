import type { OperatorHealth } from '#src/console/health/health.schema.ts'
import type { Frame } from '#src/console/live/live.schema.ts'
import type { StatsAnswer } from '#src/purchase/stats/stats.schema.ts'
import { get } from '../../lib/api.ts'
import { frame, ring, state } from '../../lib/live.ts'
import { messageText } from '../../lib/messages.ts'
import { href } from '../../lib/route.ts'
import { mayRead } from '../../lib/session.ts'
import { named, t } from '../../lib/texts.ts'
import { useQuery } from '../../lib/use-query.ts'
import { iso, liveColumns } from './ranges.ts'
import { HOUR, totalOf } from './sums.ts'
import { backupOf } from './tiles.tsx'
import { type Usual, usualOf } from './usual.ts'

const MINUTE = 60_000
const LIVE_STEPS_OF_A_MINUTE = 12

/** The worst first. Of what is unknown nobody can say that it is well. */
const LOOKS = ['failed', 'warning', 'unknown', 'good'] as const
type Look = (typeof LOOKS)[number]

/** One thing that is well, or not, and the view that says more. */
interface Part {
  readonly look: Look
  readonly text: string
  readonly address: string | undefined
  readonly title?: string
}

function headline(worst: Look): string {
  if (worst === 'unknown') return t('well.unknown')
  if (worst !== 'good') return t(`health.status.${worst}`)
  return mayRead.value ? t('health.status.ok') : t('well.ofWhatYouSee')
}

/** One line in plain words: whether all is well. */
export function AllWell({ now }: { readonly now: number }) {
  const minute = Math.floor(now / MINUTE)
  const from = iso(Math.floor(now / HOUR - 25) * HOUR)
  const stats = useEachMinute<StatsAnswer>(minute, (signal) => get('/Purchase/stats', { by: 'hour', from }, signal))
  const health = useEachMinute<OperatorHealth | undefined>(minute, async (signal) =>
    mayRead.peek() ? get('/Operator/health', {}, signal) : undefined,
  )
  const newest = frame.value
  if (newest === undefined && state.value === 'connecting') return <p class="skeleton"></p>
  const columns = liveColumns(ring)
  const isStoring = columns.slice(-LIVE_STEPS_OF_A_MINUTE).some((column) => totalOf(column) > 0)
  const all = [
    ...(newest && state.value === 'live'
      ? [takingPart(newest, isStoring), ...usualParts(stats && usualOf(stats, columns))]
      : [stoppedPart()]),
    ...(health ? checkParts(health.Checks) : mayRead.value ? [unknown('word.health', href('health'))] : []),
    ...(newest ? backupParts(newest, health !== undefined) : []),
  ]
  const parts = LOOKS.flatMap((look) => all.filter((part) => part.look === look))
  const worst = parts[0]?.look ?? 'unknown'
  return (
    <div class="line well">
      <b role="status" class={worst}>
        {headline(worst)}
      </b>
      <ul class="line">
        {parts.map(({ look, text, address, title }) => (
          <li key={text} {...(title && { title })}>
            <span class={`dot ${look}`}></span>
            <a {...(address && { href: address })}>{text}</a>
          </li>
        ))}
      </ul>
    </div>
  )
}

/** Reads it each minute. Undefined unless the latest reading succeeded, or is under way and the one before it did. */
function useEachMinute<Data>(minute: number, load: (signal: AbortSignal) => Promise<Data>): Data | undefined {
  const { data, error } = useQuery(async (signal) => ({ minute, read: await load(signal) }), [minute])
  return error === undefined && data !== undefined && minute - data.minute <= 1 ? data.read : undefined
}

const unknown = (name: 'word.deliveries' | 'word.refusals' | 'word.health', address: string): Part => ({
  look: 'unknown',
  text: t('well.notKnown', { name: t(name) }),
  address,
})

/** What the newest frame says is over. */
function stoppedPart(): Part {
  const address = href('deliveries')
  if (state.value === 'lost') return { look: 'warning', text: t('word.lost'), address }
  return { look: 'unknown', text: t(state.value === 'paused' ? 'well.paused' : 'word.connecting'), address }
}

function takingPart({ StoreUp, Failed }: Frame, isStoring: boolean): Part {
  const address = href('deliveries')
  if (!StoreUp) return { look: 'failed', text: t('well.notTaking'), address }
  if (Failed === 0) return { look: 'good', text: t('well.taking'), address }
  const text = t('well.notStored', { count: Failed })
  return { look: isStoring ? 'warning' : 'failed', text, address }
}

const usualParts = (usual: Usual | undefined): Part[] => [ratePart(usual), refusalsPart(usual)]

function ratePart({ perHour, dayBefore, isLess }: Partial<Usual> = {}): Part {
  const address = href('now', [], { range: 'day' })
  if (perHour === undefined) return unknown('word.deliveries', address)
  const values = { count: perHour }
  if (dayBefore === undefined) return { look: 'unknown', text: t('well.rate', values), address }
  const text = dayBefore === 0 ? t('well.rate', values) : t('well.rateBefore', { ...values, before: dayBefore })
  return { look: isLess ? 'warning' : 'good', text, address }
}

function refusalsPart({ refusals = 0, isMoreRefused }: Partial<Usual> = {}): Part {
  const address = href('refusals')
  if (isMoreRefused === undefined) return unknown('word.refusals', address)
  if (!isMoreRefused) return { look: 'good', text: t('well.refusedAsUsual'), address }
  return { look: 'warning', text: t('well.refused', { count: refusals }), address }
}

type Check = OperatorHealth['Checks'][number]

const VIEWS: Readonly<Record<string, string>> = { webhooks: 'webhooks', suppliers: 'customers' }

function wellText(name: 'webhooks' | 'suppliers', values: Check['Values']): string {
  if (name === 'suppliers') return t('well.suppliers')
  if (!('paused' in values && Array.isArray(values.paused))) return t('well.webhooks')
  return t('well.webhooksPaused', { count: values.paused.length })
}

/** Webhooks and silence have words when they are well. Of everything else, only what is not is named. */
function checkParts(checks: readonly Check[]): Part[] {
  const parts = checks.flatMap(({ Name, Status, Code, Values, Message }): Part[] => {
    const address = href(VIEWS[Name] ?? 'health')
    const title = messageText({ code: Code, values: Values }, Message)
    if (Status === 'failed' || Status === 'warning')
      return [{ look: Status, text: t(`well.check.${Status}`, { name: named('health.name', Name) }), title, address }]
    if (Status === 'skipped' || !(Name === 'webhooks' || Name === 'suppliers')) return []
    return [{ look: 'good', text: wellText(Name, Values), title, address }]
  })
  // Several findings may have one name.
  return [...new Map(parts.map((part) => [part.text, part])).values()]
}

/** A backup that is missing or old: the checks say so, where there are checks. */
function backupParts(now: Frame, isChecked: boolean): Part[] {
  const { value = '', look, title = value } = backupOf(now)
  const address = mayRead.value ? href('health') : undefined
  if (look === 'warning') {
    const text = t('well.check.warning', { name: named('health.name', 'backup') })
    return isChecked ? [] : [{ look, text, address, title }]
  }
  return now.BackupAt === null ? [] : [{ look: 'good', text: t('well.backup', { ago: value }), address, title }]
}
