import type { Frame } from '#src/console/live/live.schema.ts'
import { STATUSES, statusText } from '../../lib/foreign.tsx'
import { ago, bytes, dateTime, decimal, hourAndMinute, whole } from '../../lib/format.ts'
import { frame } from '../../lib/live.ts'
import { href } from '../../lib/route.ts'
import { mayRead } from '../../lib/session.ts'
import { t } from '../../lib/texts.ts'
import { RefusedLogins } from '../words.tsx'
import { type Column, iso, type Span } from './ranges.ts'
import { sumOf, totalOf } from './sums.ts'

/** A span that may be open at its end, or not be known yet. */
export type OpenSpan = Partial<Span> | undefined

/** What a link needs to show exactly what was counted. */
const within = (span: OpenSpan) => ({ from: span?.from && iso(span.from), to: span?.to && iso(span.to) })

interface TileProperties {
  readonly name: string
  /** Undefined until it is known. */
  readonly value: string | undefined
  readonly address: string | undefined
  readonly status?: number
  readonly look?: string | undefined
  readonly title?: string | undefined
}

const Tile = ({ name, value, address, status, look = '', title }: TileProperties) => (
  <li {...(title && { title })}>
    <a class={`tile ${look}`} {...(address && { href: address })}>
      <span>
        {status !== undefined && <span class={`swatch status-${status}`}></span>}
        {name}
      </span>
      <strong>{value ?? <span class="skeleton"></span>}</strong>
    </a>
  </li>
)

interface TotalsProperties {
  readonly totals: Column | undefined
  readonly span: OpenSpan
  /** Since when refusals have been counted, if that is later than the rest. */
  readonly refusedSince: number | undefined
}

/** The numbers of the chart, each with the rows behind it. */
export function Totals({ totals, span, refusedSince }: TotalsProperties) {
  const deliveries = (parameters = {}) => href('deliveries', [], { ...parameters, ...within(span) })
  const value = (count: (totals: Column) => number) => totals && whole(count(totals))
  return (
    <ul class="tiles">
      <Tile name={t('word.deliveries')} value={value(totalOf)} address={deliveries()} />
      {STATUSES.map((status) => (
        <Tile
          key={status}
          name={statusText(status)}
          value={value(({ byStatus }) => byStatus[status] ?? 0)}
          address={deliveries({ status })}
          status={status}
        />
      ))}
      <Tile
        name={t('word.duplicates')}
        value={value(({ duplicates }) => duplicates)}
        address={deliveries({ duplicate: true })}
      />
      <Tile
        name={refusedSince ? t('now.refusedSince', { time: hourAndMinute(refusedSince) }) : t('now.refused')}
        value={value(({ refusals }) => sumOf(Object.values(refusals)))}
        address={href('refusals', [], within(refusedSince ? { ...span, from: refusedSince } : span))}
      />
    </ul>
  )
}

interface RefusedProperties {
  readonly totals: Column | undefined
  readonly span: OpenSpan
  readonly live: boolean
}

/** Refusals by reason, the most frequent first. */
export function Refused({ totals, span, live }: RefusedProperties) {
  const codes = Object.entries(totals?.refusals ?? {}).sort(([, one], [, other]) => other - one)
  const logins = sumOf(Object.values(totals?.logins ?? {}))
  return (
    <section class="refused" aria-labelledby="refused-title">
      <h2 id="refused-title">{t('now.refused.title')}</h2>
      {codes.length === 0 ? (
        <p class="note">{totals ? t('now.refused.none') : <span class="skeleton"></span>}</p>
      ) : (
        <dl class="reasons">
          {codes.map(([code, count]) => (
            <>
              <dt key={code}>
                <a href={href('refusals', [], { code, ...within(span) })}>
                  <code class="foreign">{code}</code>
                </a>
              </dt>
              <dd>{whole(count)}</dd>
            </>
          ))}
        </dl>
      )}
      <RefusedLogins count={logins} of={within(span)} />
      {live && <p class="note">{t('now.refused.live')}</p>}
    </section>
  )
}

const milliseconds = (value: number | null): string =>
  value === null ? t('now.none') : t('now.milliseconds', { value: decimal(value) })

type Fact = Pick<TileProperties, 'value' | 'look' | 'title'>

function storeOf({ Store, StoreUp, Replicas }: Frame): Fact {
  if (!StoreUp) return { value: t('now.store.down'), look: 'failed' }
  if (Store === 'sqlite') return { value: t('now.store.sqlite') }
  const servers = Replicas === null ? '' : `, ${t('now.servers', { count: Replicas })}`
  return { value: `PostgreSQL${servers}` }
}

const OLD_BACKUP = 26 * 3_600_000

/** How old the newest backup is: a frame says that of an embedded store. */
export function backupOf({ At, BackupAt, Store }: Frame): Fact {
  if (Store === 'postgres') return { value: t('now.backup.postgres') }
  if (BackupAt === null) return { value: t('now.backup.never'), look: 'warning' }
  const isOld = Date.parse(At) - Date.parse(BackupAt) > OLD_BACKUP
  return { value: ago(BackupAt, Date.parse(At)), look: isOld ? 'warning' : undefined, title: dateTime(BackupAt) }
}

/** How the server is doing, as the newest frame says. */
const factsOf = (now: Frame): readonly Fact[] => {
  const { Deliveries, Bytes } = now.Queue
  const waiting = Deliveries === 0 ? t('word.none') : `${whole(Deliveries)} · ${bytes(Bytes)}`
  return [
    { value: milliseconds(now.Latency.P50Ms) },
    { value: milliseconds(now.Latency.P99Ms) },
    { value: waiting },
    storeOf(now),
    backupOf(now),
  ]
}

export function ServerFacts() {
  const facts = frame.value && factsOf(frame.value)
  const names = [t('now.fact.p50'), t('now.fact.p99'), t('now.fact.queue'), t('word.store'), t('now.fact.backup')]
  const address = mayRead.value ? href('health') : undefined
  return (
    <section aria-labelledby="server-title">
      <h2 id="server-title">{t('word.server')}</h2>
      <ul class="tiles">
        {names.map((name, index) => (
          <Tile key={index} name={name} {...(facts?.[index] ?? { value: undefined })} address={address} />
        ))}
      </ul>
    </section>
  )
}
