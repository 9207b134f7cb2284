import { useState } from 'preact/hooks'
import { foreign, visible } from '../../lib/foreign.tsx'
import { clockTime, dateTime, decimal, hourAndMinute, whole } from '../../lib/format.ts'
import { printing } from '../../lib/printing.ts'
import { href, setParameters } from '../../lib/route.ts'
import { t } from '../../lib/texts.ts'
import { Bars, Facts } from '../words.tsx'

const MINUTE_MILLISECONDS = 60_000
/** How many bars a chart has, and how long each is. */
const RANGES = {
  hour: { bars: 60, step: MINUTE_MILLISECONDS },
  day: { bars: 24, step: 60 * MINUTE_MILLISECONDS },
}

export const milliseconds = (value) => t('now.milliseconds', { value: decimal(value, value < 10 ? 1 : 0) })

/** Successes and failures by minute or, with `range` `day`, by hour. */
export function Counts({ minutes, range }) {
  if (minutes.length === 0) return <p>{t('webhook.counts.none')}</p>
  const chosen = Object.hasOwn(RANGES, range) ? range : 'hour'
  const { bars, step } = RANGES[chosen]
  const times = minutes.map(({ Minute }) => Date.parse(Minute))
  // The server's clock may be ahead of this machine's.
  const last = Math.floor(Math.max(Date.now(), ...times) / step)
  const labels = Array.from({ length: bars }, (_, index) => hourAndMinute((last - bars + 1 + index) * step))
  const sum = (name) => {
    const values = Array(bars).fill(0)
    for (const [index, minute] of minutes.entries()) {
      const place = Math.floor(times[index] / step) - last + bars - 1
      if (place >= 0) values[place] += minute[name]
    }
    return values
  }
  const total = (name) => minutes.reduce((all, minute) => all + minute[name], 0)
  const slowest = Math.max(0, ...minutes.map(({ LongestMilliseconds }) => LongestMilliseconds))
  const values = { good: whole(total('Succeeded')), bad: whole(total('Failed')), slowest: milliseconds(slowest) }
  return (
    <>
      <p>{t('webhook.counts', values)}</p>
      <p class="range" role="group" aria-label={t('word.range')}>
        {Object.keys(RANGES).map((name) => (
          <button
            key={name}
            class="small"
            aria-pressed={String(name === chosen)}
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
          { name: t('webhook.succeeded'), look: 'plain', values: sum('Succeeded') },
          { name: t('webhook.failed'), look: 'bad', values: sum('Failed') },
        ]}
      />
    </>
  )
}

/** What came of one attempt. */
export const Outcome = ({ attempt: { Status, Error: error, Milliseconds } }) => (
  <Facts
    facts={[
      [t('word.statusCode'), Status === null ? t('word.none') : String(Status)],
      [t('word.error'), error !== null && foreign(error)],
      [t('webhook.attempt.took'), milliseconds(Milliseconds)],
    ]}
  />
)

/** The beginning of the body of an answer. */
export const Answer = ({ text }) =>
  text === '' ? (
    <p class="note">{t('webhook.attempt.emptyAnswer')}</p>
  ) : (
    <pre class="answer foreign" tabindex="0" role="region" aria-label={t('word.answer')}>
      {lines(text)}
    </pre>
  )

/** Line breaks stay; other characters that show nothing are made visible. */
const lines = (text) => text.split(/\r?\n/).flatMap((line, index) => [index > 0 && '\n', ...visible(line)])

const COLUMNS = [
  'word.time',
  'word.delivery',
  'word.statusCode',
  'word.error',
  'webhook.attempt.took',
  'webhook.attempt.next',
] as const
const FIRST = 50

/** Failures and tests of the last day, the newest first. */
export function Attempts({ attempts }) {
  const [all, setAll] = useState(false)
  const shown = all || printing.value ? attempts : attempts.slice(0, FIRST)
  if (attempts.length === 0) return <p class="empty">{t('webhook.attempts.none')}</p>
  return (
    <>
      <div class="table" tabindex="0" role="region" aria-label={t('webhook.attempts')}>
        <table class="attempts">
          <thead>
            <tr>
              {COLUMNS.map((name) => (
                <th key={name} scope="col">
                  {t(name)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {keyed(shown).map(([key, attempt]) => (
              <Row key={key} attempt={attempt} />
            ))}
          </tbody>
        </table>
      </div>
      {shown.length < attempts.length && (
        <p>
          <button onClick={() => setAll(true)}>{t('webhook.showAll', { count: whole(attempts.length) })}</button>
        </p>
      )}
    </>
  )
}

/** Attempts have no id: two of the same millisecond are told apart by their order, the oldest first. */
function keyed(attempts) {
  const seen = {}
  return attempts
    .toReversed()
    .map((attempt) => {
      const name = `${attempt.At} ${attempt.ReceiptID}`
      seen[name] = (seen[name] ?? 0) + 1
      return [`${name} ${seen[name]}`, attempt]
    })
    .reverse()
}

const Row = ({ attempt: { At, ReceiptID, Test, Status, Error: error, Milliseconds, Response, NextTryAt } }) => (
  <tr>
    <td class="time">{dateTime(At)}</td>
    <td>{Test ? <span class="badge">{t('webhook.attempt.test')}</span> : <DeliveryLink receipt={ReceiptID} />}</td>
    <td>{Status ?? <span class="note">–</span>}</td>
    <td class="why">
      {error === null ? <span class="good">{t('webhook.succeeded')}</span> : foreign(error)}
      {Response && (
        <details open={printing.value}>
          <summary>{t('word.answer')}</summary>
          <Answer text={Response} />
        </details>
      )}
    </td>
    <td class="time">{milliseconds(Milliseconds)}</td>
    <td class="time">
      {NextTryAt ? (
        <time datetime={NextTryAt} title={dateTime(NextTryAt)}>
          {clockTime(NextTryAt)}
        </time>
      ) : (
        <span class="note">–</span>
      )}
    </td>
  </tr>
)

/** A delivery by its receipt, which leads to it; it may have been removed since. */
export const DeliveryLink = ({ receipt }) =>
  receipt ? (
    <a href={href('delivery', [receipt])}>
      <code>{receipt}</code>
    </a>
  ) : (
    <span class="note">{t('webhook.removed')}</span>
  )
