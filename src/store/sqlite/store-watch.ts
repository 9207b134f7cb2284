import { basename } from 'node:path'
import { lockOfThisProcess } from './file-locks.ts'
import { changeOf, type WatchedFile } from './store-file.ts'

/** Notices when the files that a process works on are no longer the store. */
export interface StoreWatch {
  /** Resolves with what has happened. From then on nothing may be confirmed any more. */
  readonly gone: Promise<string>
  /** What has happened, if anything has. */
  reason(): string | undefined
  /** For what others notice. */
  report(reason: string): void
  close(): void
}

/** Half of the second within which it must be noticed. */
const LOOK_EVERY_MILLISECONDS = 500

/** Where nothing is written, the files are looked at every half second. The writer looks after each commit by itself. */
export function watchStore(files: readonly WatchedFile[], realPath: string): StoreWatch {
  const { promise: gone, resolve } = Promise.withResolvers<string>()
  const finding = lockOfThisProcess(realPath)
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

  const look = async (): Promise<void> => {
    const change = changeNow()
    if (change !== undefined) return report(change)
    const holds = await (await finding)()
    // Not every system shows a process its own locks.
    if (holds === true) sawLock = true
    else if (sawLock && holds === false) report(`this process no longer holds its lock on ${basename(realPath)}`)
  }

  /** What cannot be looked at now is looked at again. */
  const changeNow = (): string | undefined => {
    try {
      return changeOf(files)
    } catch {
      return undefined
    }
  }

  const timer = setInterval(look, LOOK_EVERY_MILLISECONDS).unref()
  void look()

  return { gone, reason: () => reason, report, close }
}
