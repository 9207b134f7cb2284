import { isIP } from 'node:net'
import { AppError } from '#src/lib/app-error.ts'
import { isHostName } from '#src/lib/net/host-name.ts'
import { webhookErrors } from '../webhook.errors.ts'
import type { AddressRule } from './address-rule.ts'

/** Where a URL leads. */
export interface Target {
  readonly url: URL
  /** In lower case, without brackets and without a dot at the end. */
  readonly host: string
  readonly port: number
  readonly isAddress: boolean
  readonly isSecure: boolean
  /** TESLIM_WEBHOOK_ALLOW names the host. */
  readonly isNamed: boolean
}

const LONGEST_URL = 2048

/** Reads the URL of an endpoint and checks all that can be checked without asking for addresses. */
export function readTarget(text: string, rule: AddressRule): Target {
  const url = parseUrl(text)
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const isAddress = isIP(host) !== 0
  if (!isAddress && !isHostName(host)) refuse(`"${host}" is not a host name.`)
  const isSecure = url.protocol === 'https:'
  const isNamed = rule.names(host)
  const target = { url, host, isAddress, isSecure, isNamed, port: Number(url.port) || (isSecure ? 443 : 80) }
  if (isAddress && !rule.allows(host)) throw forbiddenAddress(target, host)
  if (isLocalhost(host) && !isNamed && !LOOPBACK.some(rule.allows)) throw forbiddenAddress(target, LOOPBACK[0])
  if (!isSecure && !isNamed) {
    refuse(`The URL begins with http:, which is only possible for hosts that TESLIM_WEBHOOK_ALLOW names.`)
  }
  return target
}

/** Resolvers answer these names with loopback addresses, or should (RFC 6761). */
export const isLocalhost = (host: string): boolean => /(?:^|\.)localhost$/.test(host)

const LOOPBACK = ['127.0.0.1', '::1'] as const

function parseUrl(text: string): URL {
  if (text.length > LONGEST_URL) refuse(`The URL is longer than ${LONGEST_URL} characters.`)
  // Parsers of URLs drop or replace such characters, so people would read another URL than the one in use.
  if (/[\p{C}\p{Z}\\]/u.test(text)) refuse('The URL contains a space, a control character or a backslash.')
  const [, authority] = /^https?:\/\/([^/?#]+)/i.exec(text) ?? []
  if (authority === undefined || !URL.canParse(text)) refuse('The URL does not have the form https://HOST/PATH.')
  if (authority.includes('@')) refuse('The URL contains a user name or a password.')
  if (text.includes('#')) refuse('The URL contains a fragment (#...), which is never sent.')
  const url = new URL(text)
  if (url.hostname.endsWith('.')) url.hostname = url.hostname.slice(0, -1)
  if (url.href.length > LONGEST_URL) refuse(`The URL is longer than ${LONGEST_URL} characters when it is encoded.`)
  return url
}

function refuse(message: string): never {
  throw new AppError(webhookErrors.urlInvalid, { message })
}

export function forbiddenAddress({ host, isAddress }: Target, address: string): AppError {
  const of = isAddress ? '' : ` of ${host}`
  const reason = `the address ${address}${of} is not allowed`
  const message = `Webhooks are not sent to private addresses: ${reason} unless TESLIM_WEBHOOK_ALLOW names it.`
  return new AppError(webhookErrors.addressForbidden, { message, reason })
}
