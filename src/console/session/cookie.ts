/** What a browser calls the cookie: the prefix promises that no other host, path or connection without TLS can set it. */
export const SECURE_COOKIE = '__Host-teslim'
/** Without TLS, on this machine only. */
export const LOCAL_COOKIE = 'teslim-dev'
export type CookieName = typeof SECURE_COOKIE | typeof LOCAL_COOKIE

const REFERENCE_BYTES = 32
/** 32 bytes as base64url in canonical spelling: the unused bits of the last character are zero. */
const REFERENCE = /^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/

export const newReference = (random: (length: number) => Buffer): string =>
  random(REFERENCE_BYTES).toString('base64url')

/** The values of all cookies of this name, as they were sent. */
export const cookiesNamed = (header: string | undefined, name: CookieName): string[] =>
  (header ?? '').split(';').flatMap((pair) => {
    const [named, ...value] = pair.trim().split('=')
    return named === name && value.length > 0 ? [value.join('=')] : []
  })

export const isReference = (value: string): boolean => REFERENCE.test(value)

/** `Set-Cookie`: without a reference the cookie expires. */
export function setCookie(name: CookieName, reference: string, maxAgeSeconds: number): string {
  const secure = name === SECURE_COOKIE ? ' Secure;' : ''
  return `${name}=${reference}; Path=/;${secure} HttpOnly; SameSite=Strict; Max-Age=${maxAgeSeconds}`
}
