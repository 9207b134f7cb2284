import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { settings } from '#src/config/settings.ts'
import { AppError, type ErrorDefinition } from '#src/lib/app-error.ts'
import { counted } from '#src/lib/printable.ts'
import { type CliContext, type Command, type Input, Misuse } from '../command.ts'
import { readWhole } from '../input/number.ts'
import { readSecretText } from '../input/password.ts'
import { createReceive } from './receive.ts'

const HOST = '127.0.0.1'
const DEFAULT_PORT = 8080
const DEFAULT_ANSWER = 204
/** Around the payload of a delivery, which TESLIM_BODY_LIMIT limits. */
const ENVELOPE_BYTES = 65_536
const MAX_CONNECTIONS = 64
const RECEIVE_MILLISECONDS = 15_000

const portUnusable = {
  code: 'PORT_UNUSABLE',
  kind: 'conflict',
  message: 'The port cannot be used.',
} as const satisfies ErrorDefinition

export const webhookListen: Command = {
  name: 'webhook listen',
  about: 'Receive webhooks on this machine, and print them',
  details:
    'To try webhooks before there is a receiver. It listens on 127.0.0.1, so TESLIM_WEBHOOK_ALLOW of the server must name 127.0.0.1:PORT. It answers 401 to what is not signed with the secret, or is older than five minutes. The secret comes from TESLIM_WEBHOOK_SECRET or --secret-stdin; two of them, with a space between, while it is being replaced. Ctrl-C ends it. With --json each request is one JSON value in a line of its own.',
  options: {
    port: { value: 'PORT', about: `The port; 0 chooses a free one; ${DEFAULT_PORT} if not given` },
    answer: {
      value: 'CODE',
      about: `The status of the answer to what is verified, such as 500 to see retries; ${DEFAULT_ANSWER} if not given`,
    },
    'secret-stdin': { about: 'Read the secret from stdin; one newline at the end is dropped' },
  },
  async run(input, context) {
    const port = readWhole(input, 'port', 0, 65_535) ?? DEFAULT_PORT
    const answer = readWhole(input, 'answer', 200, 599) ?? DEFAULT_ANSWER
    const secrets = await readSecrets(input, context)
    const maxBytes = context.loadConfig().config.bodyLimitBytes + ENVELOPE_BYTES
    const { receive, counts } = createReceive({ secrets, answer, maxBytes, json: input.json, ...context })
    const server = createServer({ requestTimeout: RECEIVE_MILLISECONDS }, receive)
    server.maxConnections = MAX_CONNECTIONS
    const stop = context.stopSignal()
    const url = `http://${HOST}:${await listen(server, port)}`
    const say = input.json ? context.err : context.out
    say(`listening on ${url}, at any path; Ctrl-C ends it`)
    if (!stop.aborted) await once(stop, 'abort')
    server.close()
    server.closeAllConnections()
    const { verified, refused } = counts()
    say(`${counted(verified, 'request')} verified, ${refused.toLocaleString('en')} refused`)
    return 0
  },
}

async function listen(server: Server, port: number): Promise<number> {
  try {
    await once(server.listen(port, HOST), 'listening')
    return (server.address() as AddressInfo).port
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const message = `The port ${port} of ${HOST} cannot be used (${code}): choose another one with --port.`
    throw new AppError(portUnusable, { message })
  }
}

async function readSecrets(input: Input, context: CliContext): Promise<string[]> {
  const { read, allowed } = settings.webhookSecret
  const text = input.flag('secret-stdin')
    ? await readSecretText('secret', context)
    : context.loadConfig().config.webhookSecret
  if (text === '')
    throw new Misuse(
      'the secret of the endpoint is needed, which "teslim webhook add" shows: TESLIM_WEBHOOK_SECRET or --secret-stdin',
    )
  if (read(text) === undefined) throw new Misuse(`the secret is not ${allowed}`)
  return text.split(' ')
}
