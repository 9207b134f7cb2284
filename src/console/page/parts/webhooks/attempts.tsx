import { foreign, visible } from '../../lib/foreign.tsx'
import { clockTime, dateTime, hourAndMinute } from '../../lib/format.ts'
import { printing } from '../../lib/printing.ts'
import { setParameters } from '../../lib/route.ts'
import { t } from '../../lib/texts.ts'
import { Bars } from '../bars.tsx'
import { type ShortColumn, ShortTable } from '../short-table.tsx'
import { Facts } from '../words.tsx'
import { type Attempt, type Attempts, DeliveryLink, milliseconds } from './words.tsx'

const MINUTE_MILLISECONDS = 60_000
/** How many bars a chart has, and how long each is. */
const RANGES = {
  hour: { bars: 60, step: MINUTE_MILLISECONDS },
  day: { bars: 24, step: 60 * MINUTE_MILLISECONDS },
}
const NAMES = ['hour', 'day'] as const

/** Successes and failures by minute or, with `range` `day`, by hour. */
export function Counts({
  minutes,
  range,
}: {
  readonly minutes: Attempts['Minutes']
  readonly range: string | undefined
}) {
  if (minutes.length === 0) return <p>{t('webhook.counts.none')}</p>
  const chosen = range === 'day' ? 'day' : 'hour'
  const { bars, step } = RANGES[chosen]
  const times = minutes.map(({ Minute }) => Date.parse(Minute))
  // The server's clock may be ahead of this machine's.
  const first = Math.floor(Math.max(Date.now(), ...times) / step) - bars + 1
  const labels = Array.from({ length: bars }, (_, index) => hourAndMinute((first + index) * step))
  const byBar = Map.groupBy(minutes, ({ Minute }) => Math.floor(Date.parse(Minute) / step) - first)
  const sum = (some: Attempts['Minutes'], name: 'Succeeded' | 'Failed'): number =>
    some.reduce((all, minute) => all + minute[name], 0)
  const values = (name: 'Succeeded' | 'Failed'): number[] => labels.map((_, index) => sum(byBar.get(index) ?? [], name))
  const slowest = Math.max(0, ...minutes.map(({ LongestMilliseconds }) => LongestMilliseconds))
  const said = {
    good: sum(minutes, 'Succeeded'),
    bad: sum(minutes, 'Failed'),
    slowest: milliseconds(slowest),
  }
  return (
    <>
      <p>{t('webhook.counts', said)}</p>
      <p class="line range" role="group" aria-label={t('word.range')}>
        {NAMES.map((name) => (
          <button
            key={name}
            class="small"
            aria-pressed={name === chosen}
            onClick={() => setParameters({ range: name }, { replace: true })}
          >
            {t(`range.${name}`)}
          </button>
        ))}
      </p>
      <Bars
        title={t(`webhook.bars.${chosen}`)}
        labels={labels}
        series={[
          { name: t('webhook.succeeded'), look: 'plain', values: values('Succeeded') },
          { name: t('webhook.failed'), look: 'bad', values: values('Failed') },
        ]}
      />
    </>
  )
}

export const Outcome = ({ attempt: { Status, Error: error, Milliseconds } }: { readonly attempt: Attempt }) => (
  <Facts
    facts={[
      [t('word.statusCode'), Status === null ? t('word.none') : String(Status)],
      [t('word.error'), error !== null && foreign(error)],
      [t('webhook.attempt.took'), milliseconds(Milliseconds)],
    ]}
  />
)

/** The beginning of the body of an answer. */
export const Answer = ({ text }: { readonly text: string }) =>
  text === '' ? (
    <p class="note">{t('webhook.attempt.emptyAnswer')}</p>
  ) : (
    <pre class="answer foreign" tabIndex={0} role="region" aria-label={t('word.answer')}>
      {lines(text)}
    </pre>
  )

/** The server keeps a line break as the sign for it. */
const LINE_BREAK = /␍?␊/

/** Line breaks stay; other characters that show nothing are made visible. */
const lines = (text: string) => text.split(LINE_BREAK).flatMap((line, index) => [index > 0 && '\n', ...visible(line)])

const FIRST = 5

/** Failures and tests of the last day, the newest first. */
export const AttemptList = ({ attempts }: { readonly attempts: Attempts['Attempts'] }) =>
  attempts.length === 0 ? (
    <p class="empty">{t('webhook.attempts.none')}</p>
  ) : (
    <ShortTable
      label={t('webhook.attempts')}
      look="attempts"
      columns={COLUMNS}
      rows={keyed(attempts)}
      keyOf={([key]) => key}
      first={FIRST}
    />
  )

type Keyed = readonly [key: string, attempt: Attempt]

/** Attempts have no id: two of the same millisecond are told apart by their order, the oldest first. */
function keyed(attempts: readonly Attempt[]): Keyed[] {
  const seen = new Map<string, number>()
  return attempts
    .toReversed()
    .map((attempt) => {
      const name = `${attempt.At} ${attempt.ReceiptID}`
      const count = (seen.get(name) ?? 0) + 1
      seen.set(name, count)
      return [`${name} ${count}`, attempt] as const
    })
    .reverse()
}

const COLUMNS: readonly ShortColumn<Keyed>[] = [
  {
    title: 'word.delivery',
    cell: ([, { Test, ReceiptID, OrderID }]) =>
      Test ? (
        <span class="badge">{t('webhook.attempt.test')}</span>
      ) : (
        <DeliveryLink receipt={ReceiptID} order={OrderID} />
      ),
  },
  { title: 'word.answer', look: 'why', cell: ([, attempt]) => <Answered attempt={attempt} /> },
  { title: 'webhook.attempt.took', look: 'time', cell: ([, attempt]) => milliseconds(attempt.Milliseconds) },
  {
    title: 'webhook.attempt.next',
    look: 'time',
    cell: ([, { NextTryAt: at }]) =>
      at === null ? (
        <span class="note">–</span>
      ) : (
        <time dateTime={at} title={dateTime(at)}>
          {clockTime(at)}
        </time>
      ),
  },
  { title: 'word.time', look: 'time', cell: ([, attempt]) => dateTime(attempt.At) },
]

const MAX_LINE = 120

function firstLine(text: string): string {
  const [line = ''] = text.trim().split(LINE_BREAK, 1)
  return line.length > MAX_LINE ? `${line.slice(0, MAX_LINE)}…` : line
}

/** The code and the first line of the answer, which opens to all of it; the error where that says more. */
export function Answered({ attempt: { Status, Error: error, Response } }: { readonly attempt: Attempt }) {
  const first = firstLine(Response ?? '')
  const said = (
    <>
      {Status !== null && <b class={error === null ? 'good' : 'failed'}>{Status}</b>}{' '}
      {error !== null && error !== `status ${Status}` && <span class="failed">{foreign(error)} </span>}
      {foreign(first)}
    </>
  )
  if (Response === null || first === Response.trim()) return said
  return (
    <details open={printing.value}>
      <summary>{said}</summary>
      <Answer text={Response} />
    </details>
  )
}
