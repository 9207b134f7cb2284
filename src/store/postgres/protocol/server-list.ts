import type { ClientConfig } from 'pg'
import { AppError } from '#src/lib/app-error.ts'
import { storeErrors } from '#src/store/store.errors.ts'

/**
 * Returns the servers that a URL names: `postgres://user:password@one:5432,two:5433/name?sslmode=verify-full`. Any of them may
 * be a standby: teslim looks for the one that takes writes.
 */
export function serversOf(url: string): ClientConfig[] {
  const [, start = '', hosts = '', rest = ''] = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/i.exec(url) ?? []
  const { searchParams } = new URL(`postgres://x${rest}`)
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

export const CONNECT_SECONDS = 2

/** Opens a connection to the server that took writes last, or else to the next one that takes them. */
export function atAnyOf<Options, Opened>(
  servers: readonly ClientConfig[],
  open: (server: ClientConfig, options: Options) => Promise<Opened>,
  isFinal: (error: unknown) => boolean,
): (options: Options) => Promise<Opened> {
  let current = 0
  return async (options) => {
    for (let tries = 1; ; tries++) {
      const tried = current
      try {
        return await open(servers[tried] as ClientConfig, options)
      } catch (error) {
        if (isFinal(error)) throw error
        // A concurrent call may have moved on already.
        if (current === tried) current = (current + 1) % servers.length
        if (tries === servers.length) throw error
      }
    }
  }
}
