import type { RequestOptions } from 'node:http'
import type { Command } from './command.ts'
import { readServerAddress, type ServerAddress, urlOf, urlOption } from './input/server-address.ts'

const PATH = '/readyz'
const TIMEOUT_SECONDS = 4

export const health: Command = {
  name: 'health',
  about: 'Ask the server on this machine whether it is ready',
  options: urlOption('Ask this server instead of the one that HOST and PORT name'),
  async run(input, { loadConfig, out, err }) {
    const server = readServerAddress(input, loadConfig)
    const url = `${urlOf(server)}${PATH}`
    const { status, reason } = await ask(server)
    const ready = status === 200
    if (input.json) out(JSON.stringify({ ready, url, status, reason }))
    else if (ready) out(`${url} is ready`)
    else if (reason === 'ECONNREFUSED')
      err(`teslim health: nothing listens at ${url.slice(0, -PATH.length)}: is the server running? (${reason})`)
    else if (status === null) err(`teslim health: ${url} cannot be reached: ${reason}`)
    else err(`teslim health: ${url} answered ${status}: the server runs but is not ready; its log says why`)
    return ready ? 0 : 1
  },
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
