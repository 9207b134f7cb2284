import { parseDuration } from '#src/lib/duration.ts'
import { counted, printable } from '#src/lib/printable.ts'
import { attemptAnswer, endpointAnswer, withSecretAnswer } from '#src/webhook/endpoints/answers.ts'
import type { Replayed } from '#src/webhook/endpoints/endpoints.rule.ts'
import { LONGEST_OVERLAP_HOURS } from '#src/webhook/endpoints/limits.ts'
import { type Command, type Input, Misuse } from '../command.ts'
import { secretText } from './add.ts'
import { readFrom } from './begin.ts'
import { stateText } from './show.ts'
import { type EndpointRules, withEndpoints } from './with-endpoints.ts'

const POSITIONALS = ['ENDPOINTID']
const idIn = ({ positionals: [id = ''] }: Input): string => id

const changeOf = (name: 'pause' | 'resume', about: string, details: string): Command => ({
  name: `webhook ${name}`,
  about,
  details,
  positionals: POSITIONALS,
  async run(input, context) {
    const endpoint = await withEndpoints(context, 'change', async ({ endpoints, idOf }) =>
      endpoints[name](await idOf(idIn(input))),
    )
    const { id } = endpoint.webhook
    context.out(
      input.json
        ? JSON.stringify(endpointAnswer(endpoint))
        : `${id}: ${stateText(endpoint)}, ${counted(endpoint.pending, 'delivery', 'deliveries')} pending.`,
    )
  },
})

export const webhookPause = changeOf('pause', 'Send nothing to an endpoint until it is resumed', 'Nothing is lost.')
export const webhookResume = changeOf(
  'resume',
  'Go on sending to an endpoint that is paused',
  'It goes on where it stopped, for whatever reason it was paused.',
)

export const webhookReplay: Command = {
  name: 'webhook replay',
  about: 'Send deliveries to an endpoint again',
  details:
    'Everything from a place on, one delivery, or everything that is set aside, whether it was confirmed or not. The receiver knows repeats by their webhook-id.',
  positionals: POSITIONALS,
  options: {
    from: {
      type: 'string',
      value: 'PLACE',
      about:
        'Everything from here on: start (the first delivery there is), a cursor of the feed, or a time such as 2026-11-21 or 24h (ago)',
    },
    receipt: { type: 'string', value: 'RECEIPTID', about: 'The delivery with this receipt' },
    'set-aside': { type: 'boolean', about: 'Everything that is set aside' },
  },
  async run(input, context) {
    const chosen = readReplay(input, context.clock.now())
    const { endpoint, deliveries } = await withEndpoints(context, 'change', async (rules) =>
      rules.endpoints.replay(await rules.idOf(idIn(input)), await chosen(rules)),
    )
    if (input.json) {
      context.out(JSON.stringify({ Endpoint: endpointAnswer(endpoint), Deliveries: deliveries }))
      return
    }
    const most = input.text('from') === undefined ? '' : 'At most '
    const what = `${most}${counted(deliveries, 'delivery', 'deliveries')}`
    const { id, paused } = endpoint.webhook
    const hint = paused === null ? '' : `\n  the endpoint is paused: teslim webhook resume ${id}`
    context.out(`${what} ${deliveries === 1 ? 'is' : 'are'} sent again.${hint}`)
  },
}

function readReplay(input: Input, now: number): (rules: EndpointRules) => Promise<Replayed> {
  const [from, receipt] = [input.text('from'), input.text('receipt')]
  const setAside = input.flag('set-aside')
  if ([from !== undefined, receipt !== undefined, setAside].filter(Boolean).length !== 1)
    throw new Misuse('say what to send again: one of --from, --receipt and --set-aside')
  if (receipt !== undefined) return async ({ receiptOf }) => ({ receiptId: await receiptOf(receipt) })
  const what: Replayed = from === undefined ? 'set-aside' : { begin: readFrom(from, now, ['start']) }
  return async () => what
}

const DEFAULT_OVERLAP = '24h'
const HOUR_MILLISECONDS = 3_600_000

export const webhookRotateSecret: Command = {
  name: 'webhook rotate-secret',
  about: 'Replace the secret of an endpoint',
  details: 'Both sign for a while. The new secret is shown once. A secret that was replaced before stops signing.',
  positionals: POSITIONALS,
  options: {
    overlap: {
      type: 'string',
      value: 'TIME',
      about: `How long the old secret signs, too, such as 24h or 30m; 0 ends it immediately; ${DEFAULT_OVERLAP} if not given`,
    },
  },
  async run(input, context) {
    const text = input.text('overlap') ?? DEFAULT_OVERLAP
    const overlap = parseDuration(text)
    if (overlap === undefined || overlap > LONGEST_OVERLAP_HOURS * HOUR_MILLISECONDS)
      throw new Misuse(`--overlap takes a time such as 24h, 30m or 0, at most 366d, not "${text}"`)
    const rotated = await withEndpoints(context, 'change', async ({ endpoints, idOf }) =>
      endpoints.rotateSecret(await idOf(idIn(input)), overlap),
    )
    if (input.json) {
      context.out(JSON.stringify(withSecretAnswer(rotated)))
      return
    }
    const until = rotated.endpoint.webhook.formerSecret?.until
    const old = until === undefined ? 'no longer signs' : `signs, too, until ${new Date(until).toISOString()}`
    context.out(`${secretText(rotated)}\n  the old secret ${old}`)
  },
}

export const webhookTest: Command = {
  name: 'webhook test',
  about: 'Send a test to an endpoint now, and show the answer',
  details:
    'One message of the type teslim.test, also to an endpoint that is paused. It is sent from this machine. The exit status is 1 if it failed.',
  positionals: POSITIONALS,
  async run(input, context) {
    const { attempt } = await withEndpoints(context, 'change', async ({ endpoints, idOf }) =>
      endpoints.test(await idOf(idIn(input))),
    )
    if (input.json) context.out(JSON.stringify(attemptAnswer(attempt)))
    else {
      const { status, error, response } = attempt
      const result = error === null ? `It answered ${status}` : `It failed: ${printable(error)}`
      const body = response ? `\n${printable(response)}` : ''
      context.out(`${result}, after ${Math.round(attempt.milliseconds)} ms.${body}`)
    }
    return attempt.error === null ? 0 : 1
  },
}

export const webhookRemove: Command = {
  name: 'webhook remove',
  about: 'Remove an endpoint; what waits for it is forgotten',
  positionals: POSITIONALS,
  async run(input, context) {
    const { id, url } = await withEndpoints(context, 'change', async ({ endpoints, idOf }) =>
      endpoints.remove(await idOf(idIn(input))),
    )
    context.out(input.json ? JSON.stringify({ EndpointID: id }) : `${id} (${url}) is removed.`)
  },
}
