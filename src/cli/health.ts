import type { RequestOptions } from 'node:http'
import type { Command } from './command.ts'
import { readServerAddress, type ServerAddress, urlOf, urlOption } from './input/server-address.ts'

const PATH = '/readyz'
const TIMEOUT_SECONDS = 4

export const health: Command = {
  name: 'health',
  about: 'Ask the server on this machine whether it is ready',
  options: urlOption('Ask this server instead of the one that HOST and PORT name'),
  async run(input, { loadConfig, err }) {
    const server = readServerAddress(input, loadConfig)
    const url = `${urlOf(server)}${PATH}`
    const { status, reason } = await ask(server)
    const ready = status === 200
    if (!ready && !input.json) {
      err(`teslim health: ${whyNotReady(url, status, reason)}`)
      return 1
    }
    return { json: { ready, url, status, reason }, text: () => `${url} is ready`, status: ready ? 0 : 1 }
  },
}

function whyNotReady(url: string, status: number | null, reason: string | null): string {
  if (reason === 'ECONNREFUSED')
    return `nothing listens at ${url.slice(0, -PATH.length)}: is the server running? (${reason})`
  return status === null
    ? `${url} cannot be reached: ${reason}`
    : `${url} answered ${status}: the server runs but is not ready; its log says why`
}

interface Answer {
  readonly status: number | null
  /** The reason when there is no status. */
  readonly reason: string | null
}

async function ask(server: ServerAddress): Promise<Answer> {
  const { request } = server.protocol === 'https:' ? await import('node:https') : await import('node:http')
  const options: RequestOptions & { rejectUnauthorized: boolean } = {
    ...server,
    path: PATH,
    agent: false,
    signal: AbortSignal.timeout(TIMEOUT_SECONDS * 1000),
    // The certificate names the host that clients call, not this machine. Nothing secret is sent, and the answer is not trusted.
    rejectUnauthorized: false,
  }
  return new Promise((resolve) => {
    request(options, (response) => {
      resolve({ status: response.statusCode ?? null, reason: null })
      response.destroy()
    })
      .on('error', ({ code, message }: NodeJS.ErrnoException) => {
        const reason = code === 'ABORT_ERR' ? `no answer within ${TIMEOUT_SECONDS} seconds` : (code ?? message)
        resolve({ status: null, reason })
      })
      .end()
  })
}
