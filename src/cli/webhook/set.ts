import { readPem } from '#src/lib/certificate.ts'
import { endpointAnswer } from '#src/webhook/endpoints/answers.ts'
import type { EndpointChange } from '#src/webhook/endpoints/set.ts'
import type { NamedHeader } from '#src/webhook/headers.ts'
import { type CliContext, type Command, type Input, Misuse } from '../command.ts'
import { readSecretText } from '../input/password.ts'
import { readGiveUp, readStatuses } from './add.ts'
import { headText } from './show.ts'
import { withEndpoint } from './with-endpoints.ts'

const NONE = 'none'
/** As many values as an endpoint may have headers, with newlines. */
const MAX_STDIN_BYTES = 8 * 4098

export const webhookSet: Command = {
  name: 'webhook set',
  about: 'Change URL, filter, headers and more of an endpoint',
  details:
    'What is not given stays, as do its secret and its place. What failed, and what waits behind it in its order, is still sent, to the new URL, also that of a former customer: for another receiver add another endpoint. The rest goes by the new filter. Holds in every server within about a second. An endpoint has up to 8 headers of its own, whose values are stored like secrets and never shown. A URL with another scheme, host or port is refused unless each of them is set or removed in the same command.',
  positionals: ['ENDPOINTID'],
  options: {
    url: { value: 'URL', about: 'Where to send deliveries: https://HOST/PATH' },
    customer: {
      value: 'CUSTOMER',
      about: `Only those of this customer: e-mail address or id; ${NONE} is those of all`,
    },
    status: { value: 'NUMBERS', about: `Only those with one of these Statuses, joined by commas: 0,3; ${NONE} is any` },
    duplicates: { about: 'Send duplicates, too' },
    'no-duplicates': { about: 'Leave duplicates out' },
    header: {
      value: 'HEADER',
      multiple: true,
      about: "A header that every request has, such as 'X-Tenant: 7'; 'X-Tenant:' removes it",
    },
    'secret-header': {
      value: 'NAME',
      multiple: true,
      about: 'The same, with the value from stdin: one line for each, in this order',
    },
    'give-up': {
      value: 'TIME',
      about: `Set a delivery aside that has failed for this long, such as 3d; ${NONE} is never`,
    },
    ca: {
      value: 'FILE',
      about: `Trust this certificate authority (PEM) for the endpoint, and no other; ${NONE} is those of Node`,
    },
  },
  async run(input, context) {
    const wanted = await readChange(input, context)
    if (Object.values(wanted).every((value) => value === undefined))
      throw new Misuse(
        `say what to change: ${Object.keys(webhookSet.options ?? {})
          .map((name) => `--${name}`)
          .join(', ')}`,
      )
    const endpoint = await withEndpoint(input, context, 'change', (endpoints, id) => endpoints.set(id, wanted))
    return { json: endpointAnswer(endpoint), text: () => headText(endpoint, context.times) }
  },
}

async function readChange(input: Input, context: CliContext): Promise<EndpointChange> {
  const unlessNone = <Value>(name: string, read: (text: string) => Value): Value | null | undefined => {
    const text = input.text(name)
    return text === undefined ? undefined : text === NONE ? null : read(text)
  }
  return {
    url: input.text('url'),
    customer: unlessNone('customer', (who) => who),
    statuses: unlessNone('status', () => readStatuses(input)),
    duplicates: readDuplicates(input),
    giveUpMilliseconds: unlessNone('give-up', () => readGiveUp(input)),
    // Before the store is opened: closing a file that is the store would drop its locks.
    ca: unlessNone('ca', (path) => readPem('--ca', path)),
    headers: await readHeaders(input, context),
  }
}

function readDuplicates(input: Input): boolean | undefined {
  const [duplicates, none] = [input.flag('duplicates'), input.flag('no-duplicates')]
  if (duplicates && none) throw new Misuse('--duplicates and --no-duplicates cannot be combined')
  return duplicates || none ? duplicates : undefined
}

async function readHeaders(input: Input, context: CliContext): Promise<NamedHeader[] | undefined> {
  const plain = input.texts('header').map(readHeader)
  const secret = await readSecrets(input.texts('secret-header'), context)
  return plain.length + secret.length === 0 ? undefined : [...plain, ...secret]
}

/** The text stays out of the message: it may be a secret. */
function readHeader(text: string): NamedHeader {
  const [, name, value = ''] = /^([^:]+):(.*)$/s.exec(text) ?? []
  if (name === undefined) throw new Misuse("--header takes a name and a value, such as 'X-Tenant: 7', or 'X-Tenant:'")
  // As from a variable of the shell that is not set.
  if (/^[ \t]+$/.test(value))
    throw new Misuse("--header has a name with only spaces as its value; 'X-Tenant:' removes a header")
  return [name, value.replace(/^[ \t]+|[ \t]+$/g, '') || null]
}

async function readSecrets(names: readonly string[], context: CliContext): Promise<NamedHeader[]> {
  if (names.length === 0) return []
  const lines = (await readSecretText('value', context, MAX_STDIN_BYTES)).split(/\r?\n/)
  if (lines.length !== names.length || lines.includes(''))
    throw new Misuse('stdin must have the value of each --secret-header in a line of its own, in the same order')
  return names.map((name, place) => [name, lines[place] ?? ''])
}
