import { ago, bytes, dateTime, decimal, hourAndMinute, whole } from '../../lib/format.ts'
import { frame } from '../../lib/live.ts'
import { href } from '../../lib/route.ts'
import { mayRead } from '../../lib/session.ts'
import { named, t } from '../../lib/texts.ts'
import { AuditLink } from '../words.tsx'
import { totalOf } from './ranges.ts'

const iso = (at) => (at === undefined ? undefined : new Date(at).toISOString())

/** What a link needs to show exactly what was counted. */
const within = (span) => ({ from: iso(span?.from), to: iso(span?.to) })

const sum = (codes) => Object.values(codes).reduce((total, count) => total + count, 0)

const Tile = ({ name, value, address, status }) => (
  <li>
    <a class="tile" href={address}>
      <span>
        {status !== undefined && <span class={`swatch status-${status}`}></span>}
        {name}
      </span>
      <strong>{value ?? <span class="skeleton"></span>}</strong>
    </a>
  </li>
)

/** The numbers of the chart, each with the rows behind it. */
export function Totals({ totals, span, refusedSince }) {
  const deliveries = (parameters) => href('deliveries', [], { ...parameters, ...within(span) })
  const value = (count) => totals && whole(count(totals))
  return (
    <ul class="tiles">
      <Tile name={t('word.deliveries')} value={value(totalOf)} address={deliveries()} />
      {[0, 1, 2, 3].map((status) => (
        <Tile
          name={t(`status.${status}`)}
          value={value(({ byStatus }) => byStatus[status])}
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
        value={value(({ refusals }) => sum(refusals))}
        address={href('refusals', [], within(refusedSince ? { ...span, from: refusedSince } : span))}
      />
    </ul>
  )
}

/** Refusals by reason, the most frequent first. */
export function Refused({ totals, span, live }) {
  const codes = Object.entries(totals?.refusals ?? {}).sort(([, one], [, other]) => other - one)
  const logins = sum(totals?.logins ?? {})
  return (
    <section class="refused" aria-labelledby="refused-title">
      <h2 id="refused-title">{t('now.refused.title')}</h2>
      {codes.length === 0 ? (
        <p class="note">{totals ? t('now.refused.none') : <span class="skeleton"></span>}</p>
      ) : (
        <dl class="reasons">
          {codes.map(([code, count]) => (
            <>
              <dt>
                <a href={href('refusals', [], { code, ...within(span) })}>
                  <code class="foreign">{code}</code>
                </a>
              </dt>
              <dd>{whole(count)}</dd>
            </>
          ))}
        </dl>
      )}
      {logins > 0 && (
        <p class="note">
          <AuditLink of={{ action: 'login.refused', ...within(span) }}>
            {t('now.logins', { count: whole(logins), number: logins })}
          </AuditLink>
        </p>
      )}
      {live && <p class="note">{t('now.refused.live')}</p>}
    </section>
  )
}

const OLD_BACKUP = 26 * 3_600_000

function backup({ At, BackupAt, Store }) {
  if (Store === 'postgres') return { value: t('now.backup.postgres') }
  if (BackupAt === null) return { value: t('now.backup.never'), look: 'warning' }
  const old = Date.parse(At) - Date.parse(BackupAt) > OLD_BACKUP
  return { value: ago(BackupAt, Date.parse(At)), look: old ? 'warning' : '', title: dateTime(BackupAt) }
}

const milliseconds = (value) => (value === null ? t('now.none') : t('now.milliseconds', { value: decimal(value) }))

/** How the server is doing, as the newest frame says. */
function factsOf(state) {
  const { Latency, Queue, Store, Replicas, Consoles, StoreUp } = state
  const servers = Replicas === null ? '' : t('now.servers', { count: whole(Replicas), number: Replicas })
  return [
    { name: 'p50', value: milliseconds(Latency.P50Ms) },
    { name: 'p99', value: milliseconds(Latency.P99Ms) },
    {
      name: 'queue',
      value: Queue.Deliveries === 0 ? t('word.none') : `${whole(Queue.Deliveries)} · ${bytes(Queue.Bytes)}`,
    },
    StoreUp
      ? { name: 'store', value: Store === 'sqlite' ? t('now.store.sqlite') : `PostgreSQL, ${servers}` }
      : { name: 'store', value: t('now.store.down'), look: 'failed' },
    { name: 'backup', ...backup(state) },
    { name: 'consoles', value: whole(Consoles) },
  ]
}

const NO_FACTS = ['p50', 'p99', 'queue', 'store', 'backup', 'consoles'].map((name) => ({ name }))

export function ServerFacts() {
  const facts = frame.value ? factsOf(frame.value) : NO_FACTS
  return (
    <section aria-labelledby="server-title">
      <h2 id="server-title">{t('word.server')}</h2>
      <ul class="tiles">
        {facts.map(({ name, value, look, title }) => (
          <li title={title}>
            <a class={`tile ${look ?? ''}`} href={mayRead.value ? href('health') : undefined}>
              <span>{named('now.fact', name)}</span>
              <strong>{value ?? <span class="skeleton"></span>}</strong>
            </a>
          </li>
        ))}
      </ul>
    </section>
  )
}
