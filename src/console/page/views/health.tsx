import type { OperatorHealth } from '#src/console/health/health.schema.ts'
import { ago, bytes, dateTime, decimal, hourAndMinute, whole } from '../lib/format.ts'
import { messageText } from '../lib/messages.ts'
import { named, t } from '../lib/texts.ts'
import { useGet } from '../lib/use-query.ts'
import { Bars } from '../parts/bars.tsx'
import { Loaded } from '../parts/problem.tsx'
import { Facts } from '../parts/words.tsx'

type Check = OperatorHealth['Checks'][number]
type Minute = OperatorHealth['Minutes'][number]

/** What needs somebody comes first. */
const STATUSES = ['failed', 'warning', 'skipped', 'ok'] as const
const LOOKS = { failed: 'failed', warning: 'warning', skipped: 'note', ok: 'good' }

export function HealthView() {
  const read = useGet<OperatorHealth>('/Operator/health')
  const { loading, reload } = read
  return (
    <>
      <div class="line heading">
        <h1>{t('word.health')}</h1>
        <button aria-disabled={loading} onClick={() => (loading ? undefined : void reload())}>
          {t(loading ? 'health.checking' : 'health.check')}
        </button>
      </div>
      <Loaded read={read} tall>
        {(health) => <Health health={health} />}
      </Loaded>
    </>
  )
}

const Health = ({ health }: { readonly health: OperatorHealth }) => (
  <>
    <p role="status">
      <b class={LOOKS[health.Status]}>{t(`health.status.${health.Status}`)}</b>{' '}
      <span class="note">{t('health.checkedAt', { at: dateTime(health.CheckedAt) })}</span>
    </p>
    <Facts
      facts={[
        [t('health.version'), `teslim ${health.Version}, Node ${health.NodeVersion}`],
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

interface ChecksProperties {
  readonly status: (typeof STATUSES)[number]
  readonly checks: readonly Check[]
}

/** What is in order fits into one line, until somebody wants to read it. */
function Checks({ status, checks }: ChecksProperties) {
  const badge = <span class={`badge ${LOOKS[status]}`}>{t(`health.${status}`)}</span>
  const list = (
    <dl class="checks">
      {checks.map(({ Name, Message, Code, Values }) => (
        <div key={`${Name} ${Code}`}>
          <dt>{named('health.name', Name)}</dt>
          <dd class="foreign">{messageText({ code: Code, values: Values }, Message)}</dd>
        </div>
      ))}
    </dl>
  )
  const names = [...new Set(checks.map(({ Name }) => named('health.name', Name)))].join(', ')
  if (status === 'ok')
    return (
      <details>
        <summary>
          {badge} <small>{whole(checks.length)}</small> <span class="note">{names}</span>
        </summary>
        {list}
      </details>
    )
  return (
    <section>
      <h2>
        {badge} <small>{whole(checks.length)}</small>
      </h2>
      {list}
    </section>
  )
}

interface ChartOf {
  readonly name: 'requests' | 'p99' | 'eventLoop' | 'memory' | 'cpu'
  value(minute: Minute): number | null
  /** Is shown above the value, apart. */
  bad?(minute: Minute): number
  format(value: number): string
}

const milliseconds = (value: number): string => `${decimal(value)} ms`

const CHARTS: readonly ChartOf[] = [
  {
    name: 'requests',
    value: ({ Requests, Refusals5xx }) => Requests - Refusals5xx,
    bad: ({ Refusals5xx }) => Refusals5xx,
    format: whole,
  },
  { name: 'p99', value: ({ P99Ms }) => P99Ms, format: milliseconds },
  { name: 'eventLoop', value: ({ EventLoopP99Ms }) => EventLoopP99Ms, format: milliseconds },
  { name: 'memory', value: ({ RssBytes }) => RssBytes, format: bytes },
  { name: 'cpu', value: ({ CpuPercent }) => CpuPercent, format: (value) => `${decimal(value)} %` },
]

const HOUR_MINUTES = 60
const MINUTE = 60_000

/** An hour up to the last minute that is over: there are none from before the process was started. */
function hourOf(minutes: readonly Minute[]): { readonly at: number; readonly minute: Minute | undefined }[] {
  const last = Date.parse(minutes.at(-1)?.At ?? '')
  return Array.from({ length: HOUR_MINUTES }, (_, index) => {
    const ago = HOUR_MINUTES - 1 - index
    const minute = minutes.at(-1 - ago)
    return { at: minute ? Date.parse(minute.At) : last - ago * MINUTE, minute }
  })
}

function Minutes({ minutes }: { readonly minutes: readonly Minute[] }) {
  const hour = hourOf(minutes)
  const valuesOf = (value: (minute: Minute) => number | null) => hour.map(({ minute }) => minute && value(minute))
  return (
    <div class="charts">
      {CHARTS.map(({ name, value, bad, format }) => (
        <Bars
          key={name}
          title={t(`health.chart.${name}`)}
          labels={hour.map(({ at }) => hourAndMinute(at))}
          series={[
            { name: t(`health.chart.${name}`), look: 'plain', values: valuesOf(value) },
            ...(bad ? [{ name: t('health.failed5xx'), look: 'bad' as const, values: valuesOf(bad) }] : []),
          ]}
          format={format}
        />
      ))}
    </div>
  )
}
