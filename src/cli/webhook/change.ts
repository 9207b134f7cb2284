import { HOUR_MILLISECONDS, parseDuration } from '#src/lib/duration.ts'
import { printable } from '#src/lib/printable.ts'
import { attemptAnswer, endpointAnswer, withSecretAnswer } from '#src/webhook/endpoints/answers.ts'
import { MAX_OVERLAP_HOURS } from '#src/webhook/endpoints/limits.ts'
import { type Command, type Input, Misuse } from '../command.ts'
import { secretText } from './add.ts'
import { pendingText, stateText } from './show.ts'
import { withEndpoints } from './with-endpoints.ts'

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
        : `${id}: ${stateText(endpoint)}, ${pendingText(endpoint)} ${endpoint.pending === 1 ? 'delivery' : 'deliveries'} pending.`,
    )
  },
})

export const webhookPause = changeOf('pause', 'Send nothing to an endpoint until it is resumed', 'Nothing is lost.')
export const webhookResume = changeOf(
  'resume',
  'Go on sending to an endpoint that is paused',
  'It goes on where it stopped, for whatever reason it was paused.',
)

const DEFAULT_OVERLAP = '24h'

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
    if (overlap === undefined || overlap > MAX_OVERLAP_HOURS * HOUR_MILLISECONDS)
      throw new Misuse(`--overlap takes a time such as 24h, 30m or 0, at most 366d, not "${text}"`)
    const rotated = await withEndpoints(context, 'change', async ({ endpoints, idOf }) =>
      endpoints.rotateSecret(await idOf(idIn(input)), overlap),
    )
    if (input.json) {
      context.out(JSON.stringify(withSecretAnswer(rotated)))
      return
    }
    const until = rotated.endpoint.webhook.formerSecret?.until
    const old = until === undefined ? 'no longer signs' : `signs, too, until ${context.times.stamp(until)}`
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
