import type { RequestOptions } from 'node:http'
import { reachableHost, urlHost } from '#src/lib/reachable-host.ts'
import { type CliContext, type Command, Misuse } from './command.ts'

const PATH = '/readyz'
const TIMEOUT_SECONDS = 4

export const health: Command = {
  name: 'health',
  about: 'Ask the server on this machine whether it is ready',
  options: {
    url: { type: 'string', value: 'URL', about: 'Ask this server instead of the one that HOST and PORT name' },
  },
  async run(input, { loadConfig, out, err }) {
    const given = input.text('url')
    const server = given === undefined ? ownServer(loadConfig) : parseServer(given)
    const url = `${server.protocol}//${urlHost(server.hostname)}:${server.port}${PATH}`
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

interface Server {
  readonly protocol: 'http:' | 'https:'
  readonly hostname: string
  readonly port: number
}

function ownServer(loadConfig: CliContext['loadConfig']): Server {
  const { host, port, tlsCertificateFile } = loadConfig().config
  if (port === 0) throw new Misuse('PORT is 0, which is any free port: name the server with --url')
  return { protocol: tlsCertificateFile === '' ? 'http:' : 'https:', hostname: reachableHost(host), port }
}

function parseServer(given: string): Server {
  const { protocol, hostname, port } = URL.parse(given) ?? {}
  if (!hostname || (protocol !== 'http:' && protocol !== 'https:'))
    throw new Misuse('--url takes an address such as http://127.0.0.1:3000')
  return {
    protocol,
    hostname: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(port) || (protocol === 'https:' ? 443 : 80),
  }
}

interface Answer {
  readonly status: number | null
  /** The reason when there is no status. */
  readonly reason: string | null
}

async function ask(server: Server): Promise<Answer> {
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
