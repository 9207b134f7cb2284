import { reachableHost, urlHost } from '#src/lib/net/reachable-host.ts'
import { type CliContext, type Input, Misuse, type Option } from '../command.ts'

/** A server of teslim, as a client on this machine reaches it. */
export interface ServerAddress {
  readonly protocol: 'http:' | 'https:'
  readonly hostname: string
  readonly port: number
}

export const urlOption = (about: string): Record<string, Option> => ({ url: { value: 'URL', about } })

/** Reads --url; without it, takes the server that HOST and PORT name. */
export function readServerAddress(input: Input, loadConfig: CliContext['loadConfig']): ServerAddress {
  const given = input.text('url')
  return given === undefined ? ownServer(loadConfig) : parseServer(given)
}

export const urlOf = ({ protocol, hostname, port }: ServerAddress): string =>
  `${protocol}//${urlHost(hostname)}:${port}`

function ownServer(loadConfig: CliContext['loadConfig']): ServerAddress {
  const { host, port, tlsCertificateFile } = loadConfig().config
  if (port === 0) throw new Misuse('PORT is 0, which is any free port: name the server with --url')
  return { protocol: tlsCertificateFile === '' ? 'http:' : 'https:', hostname: reachableHost(host), port }
}

function parseServer(given: string): ServerAddress {
  const { protocol, hostname, port } = URL.parse(given) ?? {}
  if (!hostname || (protocol !== 'http:' && protocol !== 'https:'))
    throw new Misuse('--url takes an address such as http://127.0.0.1:3000')
  return {
    protocol,
    hostname: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(port) || (protocol === 'https:' ? 443 : 80),
  }
}
