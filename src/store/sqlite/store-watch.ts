import { basename } from 'node:path'
import { holdsLock } from './file-locks.ts'
import { changeOf, type FileId } from './store-file.ts'

/** Notices when the files that a process works on are no longer the store. */
export interface StoreWatch {
  /** Resolves with what has happened. From then on nothing may be confirmed any more. */
  readonly gone: Promise<string>
  /** The same, once it is known. */
  reason(): string | undefined
  /** For what others notice. */
  report(reason: string): void
  close(): void
}

/** Half of the second within which it must be noticed. */
const LOOK_EVERY_MILLISECONDS = 500

/** Where nothing is written, the files are looked at every half second. The writer looks after each commit by itself. */
export function watchStore(path: string, ids: readonly FileId[]): StoreWatch {
  const { promise: gone, resolve } = Promise.withResolvers<string>()
  const [file] = ids
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
    const change = changeOf(path, ids)
    if (change !== undefined) return report(change)
    const holds = file && (await holdsLock(file))
    // Not every system shows a process its own locks.
    if (holds === true) sawLock = true
    else if (sawLock && holds === false) report(`this process no longer holds its lock on ${basename(path)}`)
  }

  const timer = setInterval(look, LOOK_EVERY_MILLISECONDS).unref()
  void look()

  return { gone, reason: () => reason, report, close }
}
