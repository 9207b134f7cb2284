import { AppError } from '#src/lib/app-error.ts'
import type { Clock } from '#src/lib/clock.ts'
import { sharedWork } from '#src/lib/shared-work.ts'
import type { VersionWatch } from '#src/lib/version-watch.ts'
import type { CustomerStore } from '#src/store/store.ts'
import type { Access } from './access-token.ts'

/** Watches tokens whose requests last longer than a moment: long polls and streams. */
export interface AccessWatch {
  watch(access: Access): WatchedAccess
  /** Looks now, as happens by itself. Rejects if it cannot be found out whether a token has ended. */
  look(): Promise<void>
}

export interface WatchedAccess {
  /** Aborts when the token no longer grants what it granted; the reason is the refusal. */
  readonly ended: AbortSignal
  /** Must be called when the request is over. */
  forget(): void
}

interface Watched {
  readonly access: Access
  readonly ending: AbortController
  /** The version of the accounts for which the token was valid; undefined before the first look. */
  version: number | undefined
}

/** A revocation must take effect within one second, of which the store may need some to answer. */
const LOOK_EVERY_MILLISECONDS = 250

/** Asks for the version of the accounts while there is something to watch, and about each token only when the version changed. */
export function createAccessWatch(
  customers: Pick<CustomerStore, 'findById'>,
  versions: VersionWatch,
  clock: Clock,
): AccessWatch {
  const all = new Set<Watched>()
  let timer: NodeJS.Timeout | undefined

  const ask = async (watched: Watched, find: CustomerStore['findById'], version?: number): Promise<void> => {
    try {
      await watched.access.again(find)
      watched.version = version
    } catch (error) {
      if (!(error instanceof AppError) || error.kind !== 'unauthenticated') throw error
      forget(watched)
      watched.ending.abort(error)
    }
  }
  const askIf = async (isDue: (watched: Watched) => boolean, version?: number): Promise<void> => {
    // Streams of one customer share a look-up. It must not have begun before the version was read.
    const find = sharedWork(customers.findById, (id) => id)
    await Promise.all([...all].filter(isDue).map((watched) => ask(watched, find, version)))
  }

  const look = sharedWork(async () => {
    // Needs no store.
    await askIf(({ access }) => access.expiresAt * 1000 <= clock.now())
    await versions.makeFresh()
    const version = versions.version()
    await askIf((watched) => watched.version !== version, version)
  })

  const forget = (watched: Watched): void => {
    all.delete(watched)
    if (all.size > 0) return
    clearInterval(timer)
    timer = undefined
  }

  return {
    watch(access) {
      const watched: Watched = { access, ending: new AbortController(), version: undefined }
      all.add(watched)
      // While the store does not answer, nothing can be read from it either.
      timer ??= setInterval(() => void look().catch(() => undefined), LOOK_EVERY_MILLISECONDS).unref()
      return { ended: watched.ending.signal, forget: () => forget(watched) }
    },
    look,
  }
}
