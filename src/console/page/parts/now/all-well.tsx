import type { OperatorHealth } from '#src/console/health/health.schema.ts'
import type { Frame } from '#src/console/live/live.schema.ts'
import type { StatsAnswer } from '#src/purchase/stats/stats.schema.ts'
import { get } from '../../lib/api.ts'
import { whole } from '../../lib/format.ts'
import { frame, ring, state } from '../../lib/live.ts'
import { messageText } from '../../lib/messages.ts'
import { href } from '../../lib/route.ts'
import { mayRead } from '../../lib/session.ts'
import { named, t } from '../../lib/texts.ts'
import { useQuery } from '../../lib/use-query.ts'
import { HOUR, iso, liveColumns, totalOf, totalsOf } from './ranges.ts'
import { backupOf } from './tiles.tsx'
import { type Usual, usualOf } from './usual.ts'

const MINUTE = 60_000

/** The worst first. */
const LOOKS = ['failed', 'warning', 'good'] as const
type Look = (typeof LOOKS)[number]

/** One thing that is well, or not, and the view that says more. */
interface Part {
  readonly look: Look
  readonly text: string
  readonly address: string
  readonly title?: string
}

const STATUS_OF = { good: 'ok', warning: 'warning', failed: 'failed' } as const

/** One line in plain words: whether all is well. */
export function AllWell({ now }: { readonly now: number }) {
  const minute = Math.floor(now / MINUTE)
  const from = iso(Math.floor(now / HOUR - 24) * HOUR)
  const stats = useQuery<StatsAnswer>((signal) => get('/Purchase/stats', { by: 'hour', from }, { signal }), [minute])
  const health = useQuery<OperatorHealth | undefined>(
    async (signal) => (mayRead.peek() ? get('/Operator/health', {}, { signal }) : undefined),
    [minute],
  )
  if (frame.value === undefined) return <p class="skeleton"></p>
  const usual = stats.data && usualOf(stats.data, 4 * totalOf(totalsOf(liveColumns(ring))))
  const all = [
    takingPart(frame.value),
    ...(usual ? [ratePart(usual), refusalsPart(usual)] : []),
    ...checkParts(health.data?.Checks ?? []),
    ...backupParts(frame.value),
  ]
  const parts = LOOKS.flatMap((look) => all.filter((part) => part.look === look))
  const worst = parts[0]?.look ?? 'good'
  return (
    <div class="line well">
      <b role="status" class={worst}>
        {t(`health.status.${STATUS_OF[worst]}`)}
      </b>
      <ul class="line">
        {parts.map(({ look, text, address, title }) => (
          <li key={text} {...(title && { title })}>
            <span class={`dot ${look}`}></span>
            <a href={address}>{text}</a>
          </li>
        ))}
      </ul>
    </div>
  )
}

function takingPart({ StoreUp }: Frame): Part {
  const address = href('deliveries')
  if (state.value === 'lost') return { look: 'warning', text: t('word.lost'), address }
  return StoreUp
    ? { look: 'good', text: t('well.taking'), address }
    : { look: 'failed', text: t('well.notTaking'), address }
}

function ratePart({ perHour, dayBefore, isLess }: Usual): Part {
  const values = { count: whole(perHour), number: perHour, before: whole(dayBefore) }
  const text = dayBefore === 0 ? t('well.rate', values) : t('well.rateBefore', values)
  return { look: isLess ? 'warning' : 'good', text, address: href('now', [], { range: 'day' }) }
}

const refusalsPart = ({ refusals, isMoreRefused }: Usual): Part => ({
  address: href('refusals'),
  ...(isMoreRefused
    ? { look: 'warning', text: t('well.refused', { count: whole(refusals), number: refusals }) }
    : { look: 'good', text: t('well.refusedAsUsual') }),
})

type Check = OperatorHealth['Checks'][number]

const VIEWS: Readonly<Record<string, string>> = { webhooks: 'webhooks', suppliers: 'customers' }

/** Webhooks and silence have words when they are well. Of everything else, only what is not is named. */
function checkParts(checks: readonly Check[]): Part[] {
  const parts = checks.flatMap(({ Name, Status, Code, Values, Message }): Part[] => {
    const address = href(VIEWS[Name] ?? 'health')
    const title = messageText({ code: Code, values: Values }, Message)
    if (Status === 'failed' || Status === 'warning')
      return [{ look: Status, text: t(`well.check.${Status}`, { name: named('health.name', Name) }), title, address }]
    if (Status === 'skipped' || !(Name === 'webhooks' || Name === 'suppliers')) return []
    return [{ look: 'good', text: t(Name === 'webhooks' ? 'well.webhooks' : 'well.suppliers'), title, address }]
  })
  // Several findings may have one name.
  return [...new Map(parts.map((part) => [part.text, part])).values()]
}

/** Without a backup, the checks say so. */
function backupParts(now: Frame): Part[] {
  const { value = '', look, title } = backupOf(now)
  if (now.BackupAt === null || look !== undefined) return []
  return [{ look: 'good', text: t('well.backup', { ago: value }), address: href('health'), ...(title && { title }) }]
}
