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
    // trim() would take away more, such as a no-break space, with which any host may set what looks like this name.
    const [named, ...value] = pair.replace(/^[ \t]+/, '').split('=')
    return named === name && value.length > 0 ? [value.join('=')] : []
  })

export const isReference = (value: string): boolean => REFERENCE.test(value)

/** `Set-Cookie` with a reference. */
export const setCookie = (name: CookieName, reference: string, maxAgeSeconds: number, path = '/'): string =>
  `${name}=${reference}; Path=${path};${name === SECURE_COOKIE ? ' Secure;' : ''} HttpOnly; SameSite=Strict; Max-Age=${maxAgeSeconds}`

/** Where somebody else may have set another cookie of the name without the prefix, beside that at `/`. */
const PATHS = ['/', '/console', '/console/session', '/console/session/token']

/** `Set-Cookie` that lets every cookie of this name expire. */
export const expireCookies = (name: CookieName): string[] => PATHS.map((path) => setCookie(name, '', 0, path))
