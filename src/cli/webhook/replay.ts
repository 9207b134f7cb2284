import { counted } from '#src/lib/printable.ts'
import { endpointAnswer } from '#src/webhook/endpoints/answers.ts'
import type { Replayed } from '#src/webhook/endpoints/replays.ts'
import { type Command, type Input, Misuse } from '../command.ts'
import { readStatuses } from './add.ts'
import { readPlace } from './begin.ts'
import { type EndpointRules, withEndpoint } from './with-endpoints.ts'

export const webhookReplay: Command = {
  name: 'webhook replay',
  about: 'Send deliveries to an endpoint again',
  details:
    'A stretch of the feed, the deliveries of one order, one delivery, or everything that is set aside, whether confirmed or not. The receiver knows repeats by their webhook-id. A stretch takes its time, and only one at a time is sent again: "teslim webhook show" says how far it is.',
  positionals: ['ENDPOINTID'],
  options: {
    from: {
      value: 'PLACE',
      about:
        'A stretch from here on: start (the first delivery there is), a cursor of the feed, or a time such as 2026-11-21 or 24h (ago)',
    },
    to: { value: 'PLACE', about: 'The end of the stretch, in the same forms; what was not sent yet is sent anyway' },
    status: { value: 'NUMBERS', about: 'Only those with one of these Statuses, joined by commas: 0,3' },
    order: { value: 'ORDERID', about: 'The deliveries of this order, all at once' },
    customer: { value: 'CUSTOMER', about: 'The customer, if several have an order with this id: e-mail address or id' },
    receipt: { value: 'RECEIPTID', about: 'The delivery with this receipt' },
    'set-aside': { about: 'Everything that is set aside' },
    cancel: { about: 'End the stretch that is under way; what waits already is sent' },
  },
  async run(input, context) {
    const chosen = readReplay(input, context.clock.now())
    const { endpoint, deliveries } = await withEndpoint(input, context, 'change', async (endpoints, id, rules) =>
      chosen === 'cancel' ? endpoints.cancelReplay(id) : endpoints.replay(id, await chosen(rules)),
    )
    return {
      json: { Endpoint: endpointAnswer(endpoint), Deliveries: deliveries },
      text() {
        const { id, paused, replay } = endpoint.webhook
        const number = counted(deliveries, 'delivery', 'deliveries')
        const again = `${number} ${deliveries === 1 ? 'is' : 'are'} sent again.`
        const isStretch = replay !== null && input.text('order') === undefined
        return [
          chosen === 'cancel'
            ? `Nothing more is added: ${number} ${deliveries === 1 ? 'was' : 'were'}.`
            : isStretch
              ? `At most ${again}\n  to see how far it is: teslim webhook show ${id}`
              : again,
          ...(paused === null ? [] : [`  the endpoint is paused: teslim webhook resume ${id}`]),
        ].join('\n')
      },
    }
  },
}

const WHAT = '--from, --order, --receipt, --set-aside and --cancel'

function readReplay(input: Input, now: number): 'cancel' | ((rules: EndpointRules) => Promise<Replayed>) {
  const [from, to, orderId, receipt] = ['from', 'to', 'order', 'receipt'].map((name) => input.text(name))
  const statuses = readStatuses(input)
  const customer = input.text('customer')
  const setAside = input.flag('set-aside')
  const cancel = input.flag('cancel')
  const kinds = [from !== undefined || orderId !== undefined, receipt !== undefined, setAside, cancel]
  if (kinds.filter(Boolean).length !== 1) throw new Misuse(`say what to send again: one of ${WHAT}`)
  if (!kinds[0] && (to !== undefined || statuses !== undefined))
    throw new Misuse('--to and --status belong to --from or --order')
  if (customer !== undefined && orderId === undefined) throw new Misuse('--customer belongs to --order')
  if (cancel) return 'cancel'
  if (receipt !== undefined) return async ({ receiptOf }) => ({ receiptId: await receiptOf(receipt) })
  if (setAside) return async () => 'set-aside'
  const begin = readPlace(input, 'from', now, ['start'])
  const stretch = { end: readPlace(input, 'to', now), statuses }
  const what: Replayed =
    orderId === undefined ? { ...stretch, begin: begin ?? 'start' } : { ...stretch, begin, orderId, customer }
  return async () => what
}
