import type { Clock } from '#src/lib/clock.ts'
import type { ApiKeyStore, ApiKeyUse } from '#src/store/store.ts'

export interface KeyUses {
  record(keyId: string, address: string): void
  /** Writes what is pending. */
  flush(): Promise<void>
}

const WRITE_AFTER_MILLISECONDS = 5_000

/** Records when and from where each key was last used; writes every few seconds, not with each request. */
export function createKeyUses(store: ApiKeyStore, clock: Clock, onFailed: (error: unknown) => void): KeyUses {
  let uses = new Map<string, ApiKeyUse>()
  let timer: NodeJS.Timeout | undefined

  const flush = async (): Promise<void> => {
    clearTimeout(timer)
    timer = undefined
    const written = uses
    if (written.size === 0) return
    uses = new Map()
    await store.recordUses([...written.values()]).catch(onFailed)
  }

  return {
    record(keyId, address) {
      uses.set(keyId, { keyId, usedAt: clock.now(), address })
      timer ??= setTimeout(() => void flush(), WRITE_AFTER_MILLISECONDS).unref()
    },
    flush,
  }
}
