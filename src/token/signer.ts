import { Worker } from 'node:worker_threads'
import type { SignReply, SignRequest } from './sign-worker.ts'
import { signatureOf } from './signature.ts'
import type { UsableKey } from './usable-key.ts'

export interface Signer {
  sign(text: string, key: UsableKey): Promise<string>
  close(): Promise<void>
}

interface Waiting {
  readonly text: string
  readonly resolve: (signature: string) => void
  readonly reject: (error: unknown) => void
}

interface Batch {
  readonly key: UsableKey
  readonly waiting: readonly Waiting[]
}

/** So that the thread has work while the others of the turn still come in. */
const MOST_TOGETHER = 8

/**
 * Signs in a thread, for those who ask in one turn of the event loop together: to wake a thread for each of them takes as long
 * as to sign. One alone is signed for at once, and so is everybody whose thread died.
 */
export function createSigner(spawn = () => new Worker(new URL('./sign-worker.ts', import.meta.url))): Signer {
  const asked = new Map<UsableKey, Waiting[]>()
  const underWay = new Map<number, Batch>()
  let worker: Worker | undefined
  let nextId = 0

  const start = (): Worker => {
    const started = spawn()
    started.on('message', ({ id, signatures }: SignReply) => {
      const batch = underWay.get(id)
      underWay.delete(id)
      batch?.waiting.forEach(({ resolve }, index) => void resolve(signatures[index] as string))
    })
    started.on('error', () => bury(started))
    started.on('exit', () => bury(started))
    return started
  }

  const bury = (dead: Worker): void => {
    if (worker !== dead) return
    worker = undefined
    for (const batch of underWay.values()) signHere(batch)
    underWay.clear()
  }

  const signThere = ({ key, waiting }: Batch): void => {
    const id = nextId++
    const { algorithm, privateKey } = key
    underWay.set(id, { key, waiting })
    worker ??= start()
    worker.postMessage({ id, algorithm, privateKey, texts: waiting.map(({ text }) => text) } satisfies SignRequest)
  }

  const signAll = (): void => {
    for (const [key, waiting] of asked) waiting.length === 1 ? signHere({ key, waiting }) : signThere({ key, waiting })
    asked.clear()
  }

  return {
    sign(text, key) {
      const { promise, resolve, reject } = Promise.withResolvers<string>()
      if (asked.size === 0) setImmediate(signAll)
      const waiting = asked.get(key) ?? []
      waiting.push({ text, resolve, reject })
      asked.set(key, waiting)
      if (waiting.length === MOST_TOGETHER) {
        asked.delete(key)
        signThere({ key, waiting })
      }
      return promise
    },
    async close() {
      const closing = worker
      worker = undefined
      await closing?.terminate()
      for (const batch of underWay.values()) signHere(batch)
      underWay.clear()
    },
  }
}

function signHere({ key: { algorithm, privateKey }, waiting }: Batch): void {
  for (const { text, resolve, reject } of waiting) {
    try {
      resolve(signatureOf(text, algorithm, privateKey))
    } catch (error) {
      reject(error)
    }
  }
}
