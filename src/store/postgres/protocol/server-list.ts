import type { ClientConfig } from 'pg'
import { AppError } from '#src/lib/app-error.ts'
import { storeErrors } from '#src/store/store.errors.ts'

/**
 * The servers that a URL names: `postgres://user:password@one:5432,two:5433/name?sslmode=verify-full`. Every one of them
 * may be a standby; teslim looks for the one that takes writes.
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
  // The driver would read sslmode in a way of its own, unless told to read it as PostgreSQL's own tools do.
  const mode = searchParams.has('sslmode') && !searchParams.has('uselibpqcompat') ? '&uselibpqcompat=true' : ''
  return hosts.split(',').map((host) => ({
    connectionString: `${start}${host}${rest}${mode}`,
    connectionTimeoutMillis: seconds * 1000,
  }))
}

export const CONNECT_SECONDS = 2

/** Opens at the server that was last found to take writes, or else at the next one that does. */
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
        // Unless somebody else has gone on from there already.
        if (current === tried) current = (current + 1) % servers.length
        if (tries === servers.length) throw error
      }
    }
  }
}
