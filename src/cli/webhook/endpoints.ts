import { HOUR_MILLISECONDS, parseDuration } from '#src/lib/duration.ts'
import { printable } from '#src/lib/printable.ts'
import { attemptAnswer, endpointAnswer, withSecretAnswer } from '#src/webhook/endpoints/answers.ts'
import { MAX_OVERLAP_HOURS } from '#src/webhook/endpoints/limits.ts'
import { type Command, Misuse } from '../command.ts'
import { table } from '../output/table.ts'
import { secretText } from './add.ts'
import { behindText, pendingText, stateText } from './show.ts'
import { withEndpoint, withEndpoints } from './with-endpoints.ts'

export const webhookList: Command = {
  name: 'webhook list',
  about: 'List endpoints, oldest first, and how far each has come',
  async run(_input, context) {
    const all = await withEndpoints(context, 'read', ({ endpoints }) => endpoints.list())
    return {
      json: all.map((endpoint) => endpointAnswer(endpoint)),
      text() {
        if (all.length === 0) return 'There are no endpoints yet: see teslim webhook add --help.'
        const rows = all.map((endpoint) => {
          const { id, url, setAside, customerId } = endpoint.webhook
          const to = customerId === null ? url : `${url} (only ${endpoint.customer ?? customerId})`
          return [id, stateText(endpoint), behindText(endpoint), pendingText(endpoint), `${setAside}`, to]
        })
        return table(['id', 'state', 'behind', 'pending', 'set aside', 'sent to'], rows, context.columns)
      },
    }
  },
}

const POSITIONALS = ['ENDPOINTID']

const changeOf = (name: 'pause' | 'resume', about: string, details: string): Command => ({
  name: `webhook ${name}`,
  about,
  details,
  positionals: POSITIONALS,
  async run(input, context) {
    const endpoint = await withEndpoint(input, context, 'change', (endpoints, id) => endpoints[name](id))
    const pending = `${pendingText(endpoint)} ${endpoint.pending === 1 ? 'delivery' : 'deliveries'} pending`
    return {
      json: endpointAnswer(endpoint),
      text: () => `${endpoint.webhook.id}: ${stateText(endpoint)}, ${pending}.`,
    }
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
      value: 'TIME',
      about: `How long the old secret signs, too, such as 24h or 30m; 0 ends it within a second; ${DEFAULT_OVERLAP} if not given`,
    },
  },
  async run(input, context) {
    const text = input.text('overlap') ?? DEFAULT_OVERLAP
    const overlap = parseDuration(text)
    if (overlap === undefined || overlap > MAX_OVERLAP_HOURS * HOUR_MILLISECONDS)
      throw new Misuse(`--overlap takes a time such as 24h, 30m or 0, at most 366d, not "${text}"`)
    const rotated = await withEndpoint(input, context, 'change', (endpoints, id) => endpoints.rotateSecret(id, overlap))
    const until = rotated.endpoint.webhook.formerSecret?.until
    const old = until === undefined ? 'no longer signs' : `signs, too, until ${context.times.stamp(until)}`
    return { json: withSecretAnswer(rotated), text: () => `${secretText(rotated)}\n  the old secret ${old}` }
  },
}

export const webhookTest: Command = {
  name: 'webhook test',
  about: 'Send a test to an endpoint now, and show the answer',
  details:
    'One message of the type teslim.test, also to an endpoint that is paused. It is sent from this machine. The exit status is 1 if it failed.',
  positionals: POSITIONALS,
  async run(input, context) {
    const { attempt } = await withEndpoint(input, context, 'change', (endpoints, id) => endpoints.test(id))
    const { status, error, response, milliseconds } = attempt
    const result = error === null ? `It answered ${status}` : `It failed: ${printable(error)}`
    const body = response ? `\n${printable(response)}` : ''
    return {
      json: attemptAnswer(attempt),
      text: () => `${result}, after ${Math.round(milliseconds)} ms.${body}`,
      status: error === null ? 0 : 1,
    }
  },
}

export const webhookRemove: Command = {
  name: 'webhook remove',
  about: 'Remove an endpoint; what waits for it is forgotten',
  positionals: POSITIONALS,
  async run(input, context) {
    const { id, url } = await withEndpoint(input, context, 'change', (endpoints, id) => endpoints.remove(id))
    return { json: { EndpointID: id }, text: () => `${id} (${url}) is removed.` }
  },
}
