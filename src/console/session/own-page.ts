import { type CookieName, LOCAL_COOKIE, SECURE_COOKIE } from './cookie.ts'

/** What a request says of its way here, as a trusted proxy passes it on. */
export interface Way {
  readonly protocol: string
  /** With the port, if there is one. */
  readonly host: string
  /** The address of the connection. */
  readonly peer: string | undefined
}

const THIS_MACHINE = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/
const LOOPBACK = /^(?:127\.0\.0\.1|::1|::ffff:127\.0\.0\.1)$/

/** The cookie that may be used here; undefined where somebody on the way could read it. */
export function cookieFor({ protocol, host, peer }: Way): CookieName | undefined {
  if (protocol === 'https') return SECURE_COOKIE
  return THIS_MACHINE.test(host) && LOOPBACK.test(peer ?? '') ? LOCAL_COOKIE : undefined
}

export interface SentHeaders {
  readonly 'sec-fetch-site'?: string | string[] | undefined
  readonly origin?: string | undefined
  readonly 'content-type'?: string | undefined
}

/**
 * Whether a page of this very origin has sent the request. A sibling host and another port are of the same site, and their requests
 * bring a cookie with SameSite=Strict, too. A form cannot send JSON.
 */
export const isOwnPage = (headers: SentHeaders, { protocol, host }: Way): boolean =>
  headers['sec-fetch-site'] === 'same-origin' &&
  headers.origin === `${protocol}://${host}` &&
  /^application\/json *(?:;|$)/i.test(headers['content-type'] ?? '')
