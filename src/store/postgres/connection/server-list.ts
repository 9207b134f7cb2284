import pg, { type ClientConfig } from 'pg'
import { AppError } from '#src/lib/app-error.ts'
import { nearest } from '#src/lib/nearest.ts'
import { isLoopback } from '#src/lib/net/reachable-host.ts'
import { storeErrors } from '#src/store/store.errors.ts'

/**
 * Returns the servers that a URL names: `postgres://user:password@one:5432,two:5433/name?sslmode=verify-full`. Any of them may
 * be a standby: teslim looks for the one that takes writes.
 */
export function serversOf(url: string): ClientConfig[] {
  const [, start = '', hosts = '', rest = ''] = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/i.exec(url) ?? []
  if (rest.includes('#'))
    throw refused('a #, and what follows would not count: leave it out, or write %23 in the password.')
  const { searchParams } = new URL(`postgres://x${rest}`)
  for (const name of searchParams.keys()) {
    if (!PARAMETERS.has(name)) throw unknownParameter(name)
    if (searchParams.getAll(name).length > 1) throw refused(`${name} twice, of which only the last would count.`)
  }
  const session = searchParams.get('target_session_attrs')
  if (session !== null && session !== 'read-write') {
    throw new AppError(storeErrors.cannotOpen, {
      message: `DATABASE_URL asks for target_session_attrs=${session}, but teslim writes: leave it out or make it read-write.`,
    })
  }
  const seconds = Number(searchParams.get('connect_timeout') ?? CONNECT_SECONDS)
  if (!(seconds > 0)) {
    throw new AppError(storeErrors.cannotOpen, {
      message: 'connect_timeout in DATABASE_URL must be a number of seconds.',
    })
  }
  // Makes the driver read sslmode as PostgreSQL's own tools do.
  const mode = searchParams.has('sslmode') && !searchParams.has('uselibpqcompat') ? '&uselibpqcompat=true' : ''
  return hosts.split(',').map((host) => ({
    connectionString: `${start}${host}${rest}${mode}`,
    connectionTimeoutMillis: seconds * 1000,
  }))
}

/** Those that teslim or its driver acts on. Any other one would be ignored, and SSLMODE=verify-full would connect without TLS. */
const PARAMETERS = new Set([
  ...['sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'sslnegotiation', 'ssl', 'uselibpqcompat'],
  ...['host', 'port', 'user', 'password', 'connect_timeout', 'target_session_attrs'],
  ...['application_name', 'fallback_application_name', 'options', 'client_encoding'],
])

function unknownParameter(name: string): AppError {
  const meant =
    nearest(name.toLowerCase().replaceAll(/[^a-z]/g, ''), PARAMETERS) ?? nearest(name.toLowerCase(), PARAMETERS)
  // A name that is like no other one may be a part of the password, after a ? or & that has to be percent-encoded in it.
  const what =
    meant === undefined
      ? 'a parameter that teslim does not know: leave it out, or write ? as %3F, & as %26 and # as %23 in the password.'
      : `the parameter ${JSON.stringify(name)}, which teslim does not know: did you mean ${meant}?`
  return refused(`${what} It knows ${[...PARAMETERS].join(', ')}.`)
}

const refused = (what: string): AppError =>
  new AppError(storeErrors.cannotOpen, { message: `The URL of the database has ${what}` })

/**
 * Names the servers of a URL that are reached over a network and do not have to prove who they are: whoever is in between can read
 * the password, and all that is stored.
 */
export const unverifiedServers = (url: string): string[] =>
  serversOf(url)
    .map((server) => new pg.Client(server))
    .filter(({ host, ssl }) => !host.startsWith('/') && !isLoopback(host) && !isVerified(ssl))
    .map(({ host }) => host)

/** `verify-ca` replaces the check of the name, but still wants a certificate of the given authority. */
const isVerified = (ssl: ClientConfig['ssl']): boolean =>
  ssl === true || (typeof ssl === 'object' && ssl.rejectUnauthorized !== false)

export const CONNECT_SECONDS = 2
