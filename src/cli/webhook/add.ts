import { readPem } from '#src/lib/certificate.ts'
import { parseDuration } from '#src/lib/duration.ts'
import { endpointAnswer, withSecretAnswer } from '#src/webhook/endpoints/answers.ts'
import type { WithSecret } from '#src/webhook/endpoints/endpoints.rule.ts'
import { MAX_GIVE_UP_SECONDS, MIN_GIVE_UP_SECONDS } from '#src/webhook/endpoints/limits.ts'
import { type Command, type Input, Misuse } from '../command.ts'
import { readPlace } from './begin.ts'
import { withEndpoints } from './with-endpoints.ts'

export const webhookAdd: Command = {
  name: 'webhook add',
  about: 'Add an endpoint that deliveries are sent to',
  details:
    'Its secret, which verifies signatures, is shown once. The host must not have a private address unless TESLIM_WEBHOOK_ALLOW names it, as host:port if the port is not 443 (80 for http).',
  options: {
    url: { value: 'URL', required: true, about: 'Where to send them: https://HOST/PATH' },
    customer: { value: 'CUSTOMER', about: 'Only those of this customer: e-mail address or id' },
    status: { value: 'NUMBERS', about: 'Only those with one of these Statuses, joined by commas: 0,3' },
    'no-duplicates': { about: 'Leave duplicates out' },
    from: {
      value: 'PLACE',
      about:
        'Where to begin: now, start (the first delivery there is), a cursor of the feed, or a time such as 2026-11-21 or 24h (ago); now if not given',
    },
    'give-up': {
      value: 'TIME',
      about: 'Set a delivery aside that has failed for this long, such as 3d; never if not given',
    },
    ca: { value: 'FILE', about: 'Trust this certificate authority (PEM) for the endpoint, and no other' },
  },
  async run(input, context) {
    const ca = input.text('ca')
    const wanted = {
      url: input.text('url') ?? '',
      customer: input.text('customer'),
      statuses: readStatuses(input),
      duplicates: !input.flag('no-duplicates'),
      begin: readPlace(input, 'from', context.clock.now(), ['now', 'start']),
      giveUpMilliseconds: readGiveUp(input),
      // Before the store is opened: closing a file that is the store would drop its locks.
      ca: ca === undefined ? undefined : readPem('--ca', ca),
    }
    const added = await withEndpoints(context, 'change', ({ endpoints }) => endpoints.add(wanted))
    return { json: withSecretAnswer(added), text: () => secretText(added) }
  },
}

/** A secret, which is shown once, and the endpoint that it belongs to. */
export function secretText({ endpoint, secret }: WithSecret): string {
  const { EndpointID, URL: url } = endpointAnswer(endpoint)
  return [
    secret,
    `  shown once: it verifies what is sent to ${url}`,
    `  the endpoint is ${EndpointID}`,
    `  to try it: teslim webhook test ${EndpointID}`,
  ].join('\n')
}

export function readStatuses(input: Input): number[] | undefined {
  const text = input.text('status')
  if (text === undefined) return undefined
  const statuses = text.split(',').map((each) => each.trim())
  if (!statuses.every((each) => /^[0-3]$/.test(each)))
    throw new Misuse(`--status takes numbers from 0 to 3, joined by commas: 0,3; not "${text}"`)
  return statuses.map(Number)
}

export function readGiveUp(input: Input): number | undefined {
  const text = input.text('give-up')
  if (text === undefined) return undefined
  const seconds = (parseDuration(text) ?? 0) / 1000
  if (seconds < MIN_GIVE_UP_SECONDS || seconds > MAX_GIVE_UP_SECONDS)
    throw new Misuse(`--give-up takes a time such as 3d or 12h, from 1m to 365d, not "${text}"`)
  return seconds * 1000
}
