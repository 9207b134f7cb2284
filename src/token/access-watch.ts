import { AppError } from '#src/lib/app-error.ts'
import type { Clock } from '#src/lib/clock.ts'
import { sharedWork } from '#src/lib/shared-work.ts'
import type { VersionWatch } from '#src/lib/version-watch.ts'
import type { Access } from './access.ts'

/** Watches tokens whose requests last longer than a moment: long polls and streams. */
export type AccessWatch = ReturnType<typeof createAccessWatch>

interface Watched {
  access: Access
  readonly inSession: boolean
  readonly ending: AbortController
  /** The version of the accounts for which the token was valid; undefined before the first check. */
  version: number | undefined
}

/** A revocation must take effect within one second, of which the store may need some to answer. */
const CHECK_EVERY_MILLISECONDS = 250

/** Reads the version of the accounts while there is something to watch, and checks each token only when the version changed. */
export function createAccessWatch(versions: VersionWatch, clock: Clock) {
  const all = new Set<Watched>()
  let timer: NodeJS.Timeout | undefined

  const checkOne = async (watched: Watched, version?: number): Promise<void> => {
    try {
      const { access, inSession } = watched
      watched.access = await (inSession ? access.againInSession() : access.again())
      watched.version = version
    } catch (error) {
      if (!(error instanceof AppError) || error.kind !== 'unauthenticated') throw error
      forget(watched)
      watched.ending.abort(error)
    }
  }
  const checkIf = async (isDue: (watched: Watched) => boolean, version?: number): Promise<void> =>
    void (await Promise.all([...all].filter(isDue).map((watched) => checkOne(watched, version))))

  const check = sharedWork(async () => {
    // Needs no store, but for what goes on with a session.
    await checkIf(({ access }) => access.expiresAt * 1000 <= clock.now())
    await versions.makeFresh()
    const version = versions.version()
    await checkIf((watched) => watched.version !== version, version)
  })

  const forget = (watched: Watched): void => {
    all.delete(watched)
    if (all.size > 0) return
    clearInterval(timer)
    timer = undefined
  }

  return {
    /**
     * `forget` must be called when the request is over. `ended` aborts when the token no longer grants what it granted; its reason is the
     * refusal.
     * `inSession`: what is watched may go on with the session of the token.
     */
    watch(access: Access, { inSession }: { readonly inSession: boolean } = { inSession: false }) {
      const watched: Watched = { access, inSession, ending: new AbortController(), version: undefined }
      all.add(watched)
      // While the store does not answer, nothing can be read from it either.
      timer ??= setInterval(() => void check().catch(() => undefined), CHECK_EVERY_MILLISECONDS).unref()
      return { ended: watched.ending.signal, forget: () => forget(watched) }
    },
    /** Checks all tokens now, as happens by itself. Rejects if it cannot be found out whether a token has ended. */
    check,
  }
}
