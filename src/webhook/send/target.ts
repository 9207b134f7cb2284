import { isIP } from 'node:net'
import { AppError } from '#src/lib/app-error.ts'
import { isHostName } from '#src/lib/net/host-name.ts'
import { hostPortText } from '#src/lib/net/host-port.ts'
import { webhookErrors } from '../webhook.errors.ts'
import { type AddressRule, defaultPort, type Place } from './address-rule.ts'

/** Where a URL leads; the host is in lower case, without brackets and without a dot at the end. */
export interface Target extends Place {
  readonly url: URL
  readonly isAddress: boolean
  /** TESLIM_WEBHOOK_ALLOW names the host. */
  readonly isNamed: boolean
}

const MAX_URL = 2048

/** Reads the URL of an endpoint and checks all that can be checked without asking for addresses. */
export function readTarget(text: string, rule: AddressRule): Target {
  const url = parseUrl(text)
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const isAddress = isIP(host) !== 0
  if (!isAddress && !isHostName(host)) refuse(`"${host}" is not a host name.`)
  const isSecure = url.protocol === 'https:'
  const place = { host, isSecure, port: url.port === '' ? defaultPort(isSecure) : Number(url.port) }
  const isNamed = rule.names(place)
  const target = { ...place, url, isAddress, isNamed }
  if (isAddress && !rule.allows(host, place)) throw forbiddenAddress(target, host)
  if (isLocalhost(host) && !isNamed && !LOOPBACK.some((each) => rule.allows(each, place)))
    throw forbiddenAddress(target, LOOPBACK[0])
  if (!isSecure && !isNamed)
    refuse(`The URL begins with http:, which is only possible if TESLIM_WEBHOOK_ALLOW names ${itemOf(place)}.`)
  return target
}

/** Resolvers answer these names with loopback addresses, or should (RFC 6761). */
export const isLocalhost = (host: string): boolean => /(?:^|\.)localhost$/.test(host)

const LOOPBACK = ['127.0.0.1', '::1'] as const

function parseUrl(text: string): URL {
  if (text.length > MAX_URL) refuse(`The URL is longer than ${MAX_URL} characters.`)
  // Parsers of URLs drop or replace such characters, so people would read another URL than the one in use.
  if (/[\p{C}\p{Z}\\]/u.test(text)) refuse('The URL contains a space, a control character or a backslash.')
  const [, authority] = /^https?:\/\/([^/?#]+)/i.exec(text) ?? []
  if (authority === undefined || !URL.canParse(text)) refuse('The URL does not have the form https://HOST/PATH.')
  if (authority.includes('@')) refuse('The URL contains a user name or a password.')
  if (text.includes('#')) refuse('The URL contains a fragment (#...), which is never sent.')
  const url = new URL(text)
  if (url.port === '0') refuse('The URL has the port 0, which no server has.')
  if (url.hostname.endsWith('.')) url.hostname = url.hostname.slice(0, -1)
  if (url.href.length > MAX_URL) refuse(`The URL is longer than ${MAX_URL} characters when it is encoded.`)
  return url
}

function refuse(message: string): never {
  throw new AppError(webhookErrors.urlInvalid, { message })
}

/** What TESLIM_WEBHOOK_ALLOW must name to allow a place. */
const itemOf = ({ host, port, isSecure }: Place): string =>
  hostPortText({ host, port: port === defaultPort(isSecure) ? undefined : port })

export function forbiddenAddress(target: Target, address: string): AppError {
  const of = target.isAddress ? '' : ` of ${target.host}`
  const reason = `the address ${address}${of} is not allowed unless TESLIM_WEBHOOK_ALLOW names ${itemOf(target)}`
  return new AppError(webhookErrors.addressForbidden, {
    message: `Webhooks are not sent to private addresses: ${reason}.`,
    reason,
  })
}
