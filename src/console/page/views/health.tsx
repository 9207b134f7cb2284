import { get, useLoad } from '../lib/api.ts'
import { ago, bytes, dateTime, decimal, hourAndMinute, whole } from '../lib/format.ts'
import { messageText } from '../lib/messages.ts'
import { named, t } from '../lib/texts.ts'
import { Problem } from '../parts/problem.tsx'
import { Bars, Facts } from '../parts/words.tsx'

/** What needs somebody comes first. */
const STATUSES = ['failed', 'warning', 'skipped', 'ok']
const LOOKS = { failed: 'failed', warning: 'warning', skipped: 'note', ok: 'good' }

export function HealthView() {
  const { data, error, loading, reload } = useLoad((signal) => get('/Operator/health', {}, { signal }), [])
  return (
    <>
      <div class="heading">
        <h1>{t('word.health')}</h1>
        <button aria-disabled={String(loading)} onClick={() => loading || reload()}>
          {t(loading ? 'health.checking' : 'health.check')}
        </button>
      </div>
      {error && <Problem error={error} />}
      {data === undefined ? !error && <div class="skeleton tall" aria-busy="true"></div> : <Health health={data} />}
    </>
  )
}

const Health = ({ health }) => (
  <>
    <p role="status">
      <b class={LOOKS[health.Status]}>{t(`health.status.${health.Status}`)}</b>{' '}
      <span class="note">{t('health.checkedAt', { at: dateTime(health.CheckedAt) })}</span>
    </p>
    <Facts
      facts={[
        [
          t('health.version'),
          <>
            teslim {health.Version}, Node {health.NodeVersion}
          </>,
        ],
        [t('word.store'), t(`health.store.${health.Store}`)],
        [t('health.started'), <span title={dateTime(health.StartedAt)}>{ago(health.StartedAt)}</span>],
      ]}
    />
    {STATUSES.map((status) => {
      const checks = health.Checks.filter(({ Status }) => Status === status)
      return checks.length > 0 && <Checks key={status} status={status} checks={checks} />
    })}
    <h2>{t('health.minutes')}</h2>
    {health.Minutes.length > 0 ? <Minutes minutes={health.Minutes} /> : <p class="empty">{t('health.noMinutes')}</p>}
  </>
)

const Checks = ({ status, checks }) => (
  <section>
    <h2>
      <span class={`badge ${LOOKS[status]}`}>{t(`health.${status}`)}</span> <small>{whole(checks.length)}</small>
    </h2>
    <dl class="checks">
      {checks.map(({ Name, Message, Code, Values }) => (
        <div>
          <dt>{named('health.name', Name)}</dt>
          <dd class="foreign">{messageText({ code: Code, values: Values }, Message)}</dd>
        </div>
      ))}
    </dl>
  </section>
)

const CHARTS = [
  {
    name: 'requests',
    values: ({ Requests, Refusals5xx }) => Requests - Refusals5xx,
    bad: ({ Refusals5xx }) => Refusals5xx,
    format: whole,
  },
  { name: 'p99', values: ({ P99Ms }) => P99Ms, format: (value) => `${decimal(value)} ms` },
  { name: 'eventLoop', values: ({ EventLoopP99Ms }) => EventLoopP99Ms, format: (value) => `${decimal(value)} ms` },
  { name: 'memory', values: ({ RssBytes }) => RssBytes, format: bytes },
  { name: 'cpu', values: ({ CpuPercent }) => CpuPercent, format: (value) => `${decimal(value)} %` },
]

const Minutes = ({ minutes }) => (
  <div class="charts">
    {CHARTS.map(({ name, values, bad, format }) => (
      <Bars
        key={name}
        title={t(`health.chart.${name}`)}
        labels={minutes.map(({ At }) => hourAndMinute(At))}
        series={[
          { name: t(`health.chart.${name}`), look: 'plain', values: minutes.map(values) },
          ...(bad ? [{ name: t('health.failed5xx'), look: 'bad', values: minutes.map(bad) }] : []),
        ]}
        format={format}
      />
    ))}
  </div>
)
