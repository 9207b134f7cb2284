import { setTimeout as wait } from 'node:timers/promises'
import { AppError, reasonOf } from '#src/lib/app-error.ts'
import type { Clock } from '#src/lib/clock.ts'
import {
  findWrittenState,
  isMissing,
  lacksRoom,
  missing,
  type OpenedStore,
  openStore,
  type StoreOptions,
} from './open-store.ts'
import { storeErrors } from './store.errors.ts'
import type { Store } from './store.ts'

/** A store to serve, which may not be there yet. */
export interface AwaitedStore {
  /** Every call rejects with `missing` until the store is open. */
  readonly store: Store
  /** What requests get until then; undefined if it is open from the start. */
  readonly missing: AppError | undefined
  /** What operators are told until then. */
  reason(): string | undefined
  /** Resolves once the store is open, or to undefined when `stop` is aborted first. Calls back with each new reason why it cannot be opened. */
  opened(stop: AbortSignal, onReason: (reason: string) => void): Promise<OpenedStore | undefined>
  /** Closes the store if it is open. */
  close(): Promise<void>
}

const LOOK_EVERY_MILLISECONDS = 1000
/** Somebody has to act first, so callers need not come back every second. */
const RETRY_AFTER_SECONDS = 10

/**
 * Opens the store to serve it. Where there is none and it may not `create` one, it waits for one that somebody else makes or mounts; and
 * on a full disk for room, as a start that failed would be repeated, or given up, by a supervisor.
 */
export async function openOrAwait(options: StoreOptions, clock: Clock, create: boolean): Promise<AwaitedStore> {
  const open = (): Promise<OpenedStore> => openStore(options, clock.now(), { toServe: true, create })
  try {
    const opened = await open()
    return {
      store: opened.store,
      missing: undefined,
      reason: () => undefined,
      opened: async () => opened,
      close: opened.store.close,
    }
  } catch (error) {
    if (isMissing(error)) {
      const refusal = new AppError(storeErrors.missing, { retryAfterSeconds: RETRY_AFTER_SECONDS })
      return awaitStore(options, open, refusal, missing(options).message)
    }
    if (!lacksRoom(options, error)) throw error
    return awaitStore(options, open, new AppError(storeErrors.unavailable), reasonOf(error))
  }
}

function awaitStore(
  options: StoreOptions,
  open: () => Promise<OpenedStore>,
  refusal: AppError,
  reasonAtFirst: string,
): AwaitedStore {
  const look = (): string | undefined => findWrittenState(options)
  let reason = reasonAtFirst
  let store: Store | undefined

  const tryToOpen = async (): Promise<OpenedStore | string> => {
    try {
      return await open()
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      return reasonOf(error)
    }
  }

  return {
    store: standIn(
      () => store,
      () => refusal,
    ),
    missing: refusal,
    reason: () => (store === undefined ? reason : undefined),
    close: async () => store?.close(),
    async opened(stop, onReason) {
      const stopped = new Promise<undefined>((resolve) => stop.addEventListener('abort', () => resolve(undefined)))
      for (let before = look(); ; ) {
        await wait(LOOK_EVERY_MILLISECONDS, undefined, { signal: stop }).catch(() => undefined)
        if (stop.aborted) return undefined
        const now = look()
        const isSettled = now === before
        before = now
        // A file that is being copied here must not be opened before it is whole.
        if (!isSettled) continue
        const trying = tryToOpen()
        const outcome = await Promise.race([trying, stopped])
        if (outcome === undefined) {
          void trying.then((late) => (typeof late === 'string' ? undefined : late.store.close()))
          return undefined
        }
        if (typeof outcome !== 'string') {
          store = outcome.store
          return outcome
        }
        if (outcome === reason) continue
        reason = outcome
        onReason(reason)
      }
    },
  }
}

type Method = (...values: readonly unknown[]) => unknown
type Part = Readonly<Record<PropertyKey, Method | undefined>>

/** Stands for a store. Parts and methods may be taken before it is open; called before that, they reject with what `refusal` returns. */
function standIn(opened: () => Store | undefined, refusal: () => unknown): Store {
  const later =
    (find: (store: Store) => unknown): Method =>
    (...values) => {
      const store = opened()
      return store === undefined ? Promise.reject(refusal()) : (find(store) as Method)(...values)
    }
  const partOf = (name: keyof Store): unknown =>
    new Proxy(
      later((store) => store[name]),
      {
        get(_target, method) {
          const store = opened()
          const inPart = (one: Store) => (one[name] as unknown as Part)[method]
          return store === undefined ? later(inPart) : inPart(store)
        },
      },
    )
  const parts = new Map<PropertyKey, unknown>()
  return new Proxy({} as Store, {
    get(_target, name) {
      const part = parts.get(name) ?? partOf(name as keyof Store)
      parts.set(name, part)
      return part
    },
    ownKeys() {
      throw new TypeError('the parts of a store that may not be open yet are taken by name')
    },
  })
}
