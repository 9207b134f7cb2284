import { DAY_MILLISECONDS, HOUR_MILLISECONDS } from '#src/lib/duration.ts'
import { counted, printable } from '#src/lib/printable.ts'
import type { Webhook, WebhookReplay } from '#src/store/store.ts'
import { attemptsAnswer, endpointAnswer, percentOf, shownAnswer, toldAnswer } from '#src/webhook/endpoints/answers.ts'
import type { DescribedEndpoint } from '#src/webhook/endpoints/describe.ts'
import type { ShownAttempts, ShownEndpoint } from '#src/webhook/endpoints/endpoints.rule.ts'
import { nextTryOf } from '#src/webhook/endpoints/progress.ts'
import { headerNames } from '#src/webhook/headers.ts'
import { type Command, type Input, Misuse } from '../command.ts'
import { table } from '../output/table.ts'
import type { Times } from '../output/times.ts'
import { toldText } from './told.ts'
import { withEndpoints } from './with-endpoints.ts'

export const webhookList: Command = {
  name: 'webhook list',
  about: 'List endpoints, oldest first, and how far each has come',
  async run({ json }, context) {
    const all = await withEndpoints(context, 'read', ({ endpoints }) => endpoints.list())
    if (json) {
      context.out(JSON.stringify(all.map((endpoint) => endpointAnswer(endpoint))))
      return
    }
    if (all.length === 0) {
      context.out('There are no endpoints yet: see teslim webhook add --help.')
      return
    }
    const heading = ['id', 'state', 'behind', 'pending', 'set aside', 'sent to']
    const rows = all.map((endpoint) => {
      const { id, url, setAside, customerId } = endpoint.webhook
      return [
        id,
        stateText(endpoint),
        behindText(endpoint),
        pendingText(endpoint),
        String(setAside),
        customerId === null ? url : `${url} (only ${endpoint.customer ?? customerId})`,
      ]
    })
    context.out(table(heading, rows, context.columns))
  },
}

export const webhookShow: Command = {
  name: 'webhook show',
  about: 'Show an endpoint, what fails, and its last attempts, or what became of a delivery',
  details:
    'With --order or --receipt it says whether the endpoint has those deliveries. Times and answers of what was confirmed are known for 7 days.',
  positionals: ['ENDPOINTID'],
  options: {
    order: { type: 'string', value: 'ORDERID', about: 'What became of the deliveries of this order, the newest first' },
    customer: {
      type: 'string',
      value: 'CUSTOMER',
      about: 'The customer, if several have an order with this id: e-mail address or id',
    },
    receipt: { type: 'string', value: 'RECEIPTID', about: 'What became of the delivery with this receipt' },
  },
  async run(input, context) {
    const [typed = ''] = input.positionals
    const which = readWhich(input)
    if (which !== undefined) {
      const told = await withEndpoints(context, 'read', async ({ endpoints, idOf, receiptOf }) => {
        const id = await idOf(typed)
        return endpoints.fates(id, 'orderId' in which ? which : { receiptId: await receiptOf(which.receiptId) })
      })
      context.out(
        input.json
          ? JSON.stringify({ Deliveries: told.map(toldAnswer) })
          : toldText(told, context.times, context.columns),
      )
      return
    }
    const { shown, attempts } = await withEndpoints(context, 'read', async ({ endpoints, idOf }) => {
      const id = await idOf(typed)
      return { shown: await endpoints.show(id), attempts: await endpoints.attempts(id) }
    })
    if (input.json) {
      context.out(JSON.stringify({ ...shownAnswer(shown), ...attemptsAnswer(attempts) }))
      return
    }
    const { times, columns } = context
    const parts = [
      headText(shown.endpoint, times),
      deliveriesText('Failing, tried again', 'next try', shown.failing, times, columns),
      deliveriesText('Set aside, not tried again', 'since', shown.setAside, times, columns),
      attemptsText(attempts, times, columns),
    ]
    context.out(parts.filter((part) => part !== '').join('\n\n'))
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
function behindText({ behindMilliseconds: behind }: DescribedEndpoint): string {
  const [unit, length] = UNITS.find(([, each]) => behind >= each) ?? (['s', 1000] as const)
  return behind < 1000 ? '' : `${Math.floor(behind / length)}${unit}`
}

/** `3d`: the largest unit that leaves no rest. */
function exactDuration(milliseconds: number): string {
  const [unit, length] = UNITS.find(([, each]) => milliseconds % each === 0) ?? (['s', 1000] as const)
  return `${milliseconds / length}${unit}`
}

const timeOr = (milliseconds: number | null, none: string, times: Times): string =>
  milliseconds === null ? none : times.text(milliseconds)

/** An endpoint with its settings and its progress. */
export function headText(endpoint: DescribedEndpoint, times: Times): string {
  const { webhook, pending, cursor } = endpoint
  const { customerId, statuses, duplicates, giveUpMilliseconds, paused, failingSince, setAside } = webhook
  const rows = [
    ['URL', webhook.url],
    ['state', `${stateText(endpoint)}${paused === null ? '' : ` since ${times.text(paused.at)}`}`],
    ...(paused === null ? [] : [['to resume', `teslim webhook resume ${webhook.id}`]]),
    ['customer', customerId === null ? 'all' : (endpoint.customer ?? customerId)],
    [
      'gets',
      `${statuses === null ? 'every Status' : `Status ${statuses.join(', ')}`}${duplicates ? '' : ', no duplicates'}`,
    ],
    ['sets aside', giveUpMilliseconds === null ? 'nothing' : `what fails for ${exactDuration(giveUpMilliseconds)}`],
    ...(webhook.ca === null ? [] : [['trusts', 'its own certificate authority']]),
    ...(webhook.headers === null ? [] : [['headers', headerNames(webhook.headers).join(', ')]]),
    ['added', times.text(webhook.createdAt)],
    ['confirmed', timeOr(webhook.lastSuccessAt, 'nothing yet', times)],
    ...(failingSince === null
      ? []
      : [
          [
            'failing',
            `since ${times.text(failingSince)}; next try ${timeOr(nextTryOf(webhook, webhook.nextTryAt), 'when it is resumed', times)}`,
          ],
        ]),
    ['behind', behindText(endpoint) || 'no'],
    ['pending', pending === 0 ? 'nothing' : `${pendingText(endpoint)}${waitingText(webhook)}`],
    ['set aside', String(setAside)],
    ...(webhook.removedUnsent === 0 ? [] : [['purged', `${webhook.removedUnsent} before they were sent`]]),
    ...(webhook.replay === null ? [] : [['replay', replayText(endpoint, webhook.replay, times)]]),
    ['cursor', cursor],
  ] as const
  return [webhook.id, ...rows.map(([name = '', text = '']) => `  ${name.padEnd(12)}${printable(text)}`)].join('\n')
}

const waitingText = ({ waiting, failing }: Webhook): string =>
  waiting === 0 ? '' : `, of which ${waiting.toLocaleString('en')} wait (${failing.toLocaleString('en')} failed)`

function replayText({ replayed }: DescribedEndpoint, replay: WebhookReplay, times: Times): string {
  const [from, until] = [replayed?.from ?? null, replayed?.until ?? null].map((time) => timeOr(time, 'removed', times))
  const statuses = replay.statuses === null ? '' : `, Status ${replay.statuses.join(', ')}`
  return `${percentOf(replay)} % of ${from} to ${until}${statuses}: ${counted(replay.added, 'delivery', 'deliveries')} so far`
}

type Deliveries = ShownEndpoint['failing']

/** Either are tried again, or are set aside: the last time is that of the next attempt, or since when. */
function deliveriesText(
  title: string,
  time: string,
  deliveries: Deliveries,
  times: Times,
  columns: number | undefined,
): string {
  if (deliveries.length === 0) return ''
  const rows = deliveries.map(({ receiptId, failures, firstFailedAt, nextAt, setAsideAt, lastError }) => [
    receiptId ?? 'removed',
    String(failures),
    timeOr(firstFailedAt, '', times),
    timeOr(setAsideAt ?? nextAt, '', times),
    printable(lastError ?? ''),
  ])
  return `${title}\n${table(['receipt', 'failures', times.heading('first'), times.heading(time), 'error'], rows, columns)}`
}

/** The attempts that the terminal shows; --json has up to 500. */
const MAX_ATTEMPTS = 20

function attemptsText({ attempts, minutes }: ShownAttempts, times: Times, columns: number | undefined): string {
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
      printable([error ?? `status ${status}`, response].filter(Boolean).join(': ')),
    ])
  return `${sum}\n${table([times.heading('time'), 'receipt', 'ms', 'answer'], rows, columns)}`
}
