import { DAY_MILLISECONDS, durationText, HOUR_MILLISECONDS } from '#src/lib/duration.ts'
import { counted } from '#src/lib/printable.ts'
import type { Webhook, WebhookReplay } from '#src/store/store.ts'
import { attemptsAnswer, percentOf, shownAnswer, toldAnswer } from '#src/webhook/endpoints/answers.ts'
import type { DescribedEndpoint } from '#src/webhook/endpoints/describe.ts'
import type { ShownAttempts, ShownEndpoint } from '#src/webhook/endpoints/endpoints.rule.ts'
import { nextTryOf } from '#src/webhook/endpoints/progress.ts'
import { headerNames } from '#src/webhook/headers.ts'
import { type CliContext, type Command, type Input, Misuse } from '../command.ts'
import { fields, table } from '../output/table.ts'
import type { Times } from '../output/times.ts'
import { toldText } from './told.ts'
import { withEndpoint } from './with-endpoints.ts'

export const webhookShow: Command = {
  name: 'webhook show',
  about: 'Show an endpoint, what fails, and its last attempts, or what became of a delivery',
  details:
    'With --order or --receipt it says whether the endpoint has those deliveries. Times and answers of what was confirmed are known for 7 days.',
  positionals: ['ENDPOINTID'],
  options: {
    order: { value: 'ORDERID', about: 'What became of the deliveries of this order, the newest first' },
    customer: { value: 'CUSTOMER', about: 'The customer, if several have an order with this id: e-mail address or id' },
    receipt: { value: 'RECEIPTID', about: 'What became of the delivery with this receipt' },
  },
  async run(input, context) {
    const which = readWhich(input)
    const { times, columns } = context
    if (which !== undefined) {
      const told = await withEndpoint(input, context, 'read', async (endpoints, id, { receiptOf }) =>
        endpoints.fates(id, 'orderId' in which ? which : { receiptId: await receiptOf(which.receiptId) }),
      )
      return { json: { Deliveries: told.map(toldAnswer) }, text: () => toldText(told, times, columns) }
    }
    const { shown, attempts } = await withEndpoint(input, context, 'read', async (endpoints, id) => ({
      shown: await endpoints.show(id),
      attempts: await endpoints.attempts(id),
    }))
    return {
      json: { ...shownAnswer(shown), ...attemptsAnswer(attempts) },
      text: () =>
        [
          headText(shown.endpoint, times),
          ...deliveriesText('Failing, tried again', 'next try', shown.failing, context),
          ...deliveriesText('Set aside, not tried again', 'since', shown.setAside, context),
          attemptsText(attempts, context),
        ].join('\n\n'),
    }
  },
}

/** The deliveries that are asked for; undefined for none. */
function readWhich(input: Input) {
  const [orderId, customer, receiptId] = ['order', 'customer', 'receipt'].map((name) => input.text(name))
  if (orderId !== undefined && receiptId !== undefined) throw new Misuse('choose one of --order and --receipt')
  if (customer !== undefined && orderId === undefined) throw new Misuse('--customer belongs to --order')
  if (orderId !== undefined) return { orderId, customer }
  return receiptId === undefined ? undefined : { receiptId }
}

/** `active`, `failing`, `behind`, `paused` or `paused: gone`. */
export const stateText = ({ standing, webhook: { paused } }: DescribedEndpoint): string =>
  paused === null || paused.reason === 'operator' ? standing : `${standing}: ${paused.reason}`

/** `12`, or `at least 1,000`. */
export const pendingText = ({ pending, pendingAtLeast }: DescribedEndpoint): string =>
  `${pendingAtLeast ? 'at least ' : ''}${pending.toLocaleString('en')}`

const UNITS = [
  ['d', DAY_MILLISECONDS],
  ['h', HOUR_MILLISECONDS],
  ['m', 60_000],
] as const

/** `3h`, in whole units. */
export function behindText({ behindMilliseconds: behind }: DescribedEndpoint): string {
  const [unit, length] = UNITS.find(([, each]) => behind >= each) ?? (['s', 1000] as const)
  return behind < 1000 ? '' : `${Math.floor(behind / length)}${unit}`
}

const timeOr = (milliseconds: number | null, none: string, times: Times): string =>
  milliseconds === null ? none : times.text(milliseconds)

/** An endpoint with its settings and its progress. */
export function headText(endpoint: DescribedEndpoint, times: Times): string {
  const { webhook, pending, cursor } = endpoint
  const { id, customerId, statuses, duplicates, giveUpMilliseconds, paused, failingSince, setAside } = webhook
  const nextTry = timeOr(nextTryOf(webhook, webhook.nextTryAt), 'when it is resumed', times)
  return fields(id, {
    URL: webhook.url,
    state: `${stateText(endpoint)}${paused === null ? '' : ` since ${times.text(paused.at)}`}`,
    'to resume': paused === null ? undefined : `teslim webhook resume ${id}`,
    customer: customerId === null ? 'all' : (endpoint.customer ?? customerId),
    gets: `${statuses === null ? 'every Status' : `Status ${statuses.join(', ')}`}${duplicates ? '' : ', no duplicates'}`,
    'sets aside': giveUpMilliseconds === null ? 'nothing' : `what fails for ${durationText(giveUpMilliseconds)}`,
    trusts: webhook.ca === null ? undefined : 'its own certificate authority',
    headers: webhook.headers === null ? undefined : headerNames(webhook.headers).join(', '),
    added: times.text(webhook.createdAt),
    confirmed: timeOr(webhook.lastSuccessAt, 'nothing yet', times),
    failing: failingSince === null ? undefined : `since ${times.text(failingSince)}; next try ${nextTry}`,
    behind: behindText(endpoint) || 'no',
    pending: pending === 0 ? 'nothing' : `${pendingText(endpoint)}${waitingText(webhook)}`,
    'set aside': `${setAside}`,
    purged: webhook.removedUnsent === 0 ? undefined : `${webhook.removedUnsent} before they were sent`,
    replay: webhook.replay === null ? undefined : replayText(endpoint, webhook.replay, times),
    cursor,
  })
}

const waitingText = ({ waiting, failing }: Webhook): string =>
  waiting === 0 ? '' : `, of which ${waiting.toLocaleString('en')} wait (${failing.toLocaleString('en')} failed)`

function replayText({ replayed }: DescribedEndpoint, replay: WebhookReplay, times: Times): string {
  const [from, until] = [replayed?.from ?? null, replayed?.until ?? null].map((time) => timeOr(time, 'removed', times))
  const statuses = replay.statuses === null ? '' : `, Status ${replay.statuses.join(', ')}`
  return `${percentOf(replay)} % of ${from} to ${until}${statuses}: ${counted(replay.added, 'delivery', 'deliveries')} so far`
}

function deliveriesText(
  title: string,
  time: string,
  deliveries: ShownEndpoint['failing'],
  { times, columns }: CliContext,
): string[] {
  if (deliveries.length === 0) return []
  const rows = deliveries.map(({ receiptId, failures, firstFailedAt, nextAt, setAsideAt, lastError }) => [
    receiptId ?? 'removed',
    String(failures),
    timeOr(firstFailedAt, '', times),
    timeOr(setAsideAt ?? nextAt, '', times),
    lastError ?? '',
  ])
  const heading = ['receipt', 'failures', times.heading('first'), times.heading(time), 'error']
  return [`${title}\n${table(heading, rows, columns)}`]
}

/** The attempts that the terminal shows; --json has up to 500. */
const MAX_ATTEMPTS = 20

function attemptsText({ attempts, minutes }: ShownAttempts, { times, columns }: CliContext): string {
  const [succeeded, failed] = (['succeeded', 'failed'] as const).map((name) =>
    minutes.reduce((sum, minute) => sum + minute[name], 0),
  ) as [number, number]
  const longest = minutes.reduce((most, { longestMilliseconds }) => Math.max(most, longestMilliseconds), 0)
  const both = `${counted(succeeded, 'attempt')} succeeded, ${failed.toLocaleString('en')} failed; the longest took ${Math.round(longest)} ms`
  const sum = `Last 24 hours: ${minutes.length === 0 ? 'no delivery was sent' : both}`
  if (attempts.length === 0) return sum
  const rows = attempts
    .slice(0, MAX_ATTEMPTS)
    .map(({ at, position, receiptId, milliseconds, error, status, response }) => [
      times.text(at),
      position === null ? 'test' : (receiptId ?? 'removed'),
      `${Math.round(milliseconds)}`,
      [error ?? `status ${status}`, response].filter(Boolean).join(': '),
    ])
  return `${sum}\n${table([times.heading('time'), 'receipt', 'ms', 'answer'], rows, columns)}`
}
