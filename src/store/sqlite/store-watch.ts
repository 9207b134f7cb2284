import { basename } from 'node:path'
import { lockOfThisProcess } from './locks/file-locks.ts'
import { changeOf, type WatchedFile } from './store-file.ts'

/** Notices when the files that this process works on are no longer the store. */
export interface StoreWatch {
  /** Resolves with the reason. From then on nothing may be confirmed. */
  readonly gone: Promise<string>
  /** Returns the reason once the store is gone. */
  reason(): string | undefined
  /** Called when others notice that the store is gone. */
  report(reason: string): void
  close(): void
}

/** Half of the second within which a lost store must be noticed. */
const LOOK_EVERY_MILLISECONDS = 500

/** Checks the files every half second. The writer checks them after each commit, too. */
export function watchStore(files: readonly WatchedFile[], realPath: string): StoreWatch {
  const { promise: gone, resolve } = Promise.withResolvers<string>()
  let holdsLock = (): boolean | undefined => undefined
  let reason: string | undefined
  let sawLock = false
  let closed = false

  const close = (): void => {
    closed = true
    clearInterval(timer)
  }

  const report = (what: string): void => {
    if (closed) return
    reason = what
    close()
    resolve(what)
  }

  const look = (): void => {
    const change = changeNow()
    const holds = holdsLock()
    // Only a lock that was seen can be missed: not every system shows a process its own locks.
    sawLock ||= holds === true
    if (change !== undefined) report(change)
    else if (sawLock && holds === false) report(`this process no longer holds its lock on ${basename(realPath)}`)
  }

  /** A check that fails is repeated with the next one. */
  const changeNow = (): string | undefined => {
    try {
      return changeOf(files)
    } catch {
      return undefined
    }
  }

  const timer = setInterval(look, LOOK_EVERY_MILLISECONDS).unref()
  void lockOfThisProcess(realPath).then((found) => {
    holdsLock = found
    if (!closed) look()
  })

  return { gone, reason: () => reason, report, close }
}
