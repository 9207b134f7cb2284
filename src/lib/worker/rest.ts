import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

type CollectGarbage = (options?: { readonly type: 'major'; readonly flavor: 'last-resort' }) => void

let gc: CollectGarbage | undefined

/** Node gives this function only to programs that ask for it. */
export function collectGarbage(options?: Parameters<CollectGarbage>[0]): void {
  if (gc === undefined) {
    setFlagsFromString('--expose-gc')
    gc = runInNewContext('gc') as CollectGarbage
  }
  gc(options)
}

const HEAP = {
  bytes: (): number => getHeapStatistics().total_heap_size,
  /** V8 keeps no room for what comes next, unlike after its other collections. */
  collectAll: (): void => collectGarbage({ type: 'major', flavor: 'last-resort' }),
}

export const IDLE_MILLISECONDS = 5000
/** A heap that has grown by less is not worth the pause, nor what must be compiled again after it. */
const WORTH_BYTES = 8 * 1024 * 1024

/**
 * Gives memory back to the system once this thread has had nothing to do for a while: a heap that nothing is allocated in stays as large
 * as the last load has made it.
 */
export function createRest(heap = HEAP) {
  let timer: NodeJS.Timeout | undefined
  let workedAt = 0
  let bytesAfter = 0

  const later = (milliseconds: number): void => {
    timer ??= setTimeout(look, milliseconds).unref()
  }

  const look = (): void => {
    timer = undefined
    const left = workedAt + IDLE_MILLISECONDS - performance.now()
    if (left > 0) later(left)
    else if (heap.bytes() - bytesAfter >= WORTH_BYTES) {
      heap.collectAll()
      bytesAfter = heap.bytes()
    }
  }

  return {
    /** Must be called while there is work. */
    worked(): void {
      workedAt = performance.now()
      later(IDLE_MILLISECONDS)
    },
    end: (): void => clearTimeout(timer),
  }
}
