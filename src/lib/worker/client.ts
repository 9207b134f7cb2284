import type { Worker } from 'node:worker_threads'
import type { Answer, Message, Question } from './messages.ts'

/** After a shorter pause requests must not wait for a thread to start. */
export const QUIET_MILLISECONDS = 600_000

interface WorkerClientOptions<Failure> {
  /** Begins error messages. */
  readonly name: string
  readonly spawn: () => Worker
  /** Makes the error of requests that the thread did not answer before it ended. The next request starts another thread. */
  readonly onDeath: (cause: Error) => Error
  /** Makes the error of a request that failed. */
  readonly onFailure: (failure: Failure) => Error
  /** After this time without a request the thread ends, so that its memory can be used for something else. */
  readonly idleMilliseconds?: number
}

interface Thread {
  readonly worker: Worker
  readonly send: (message: Message<unknown>) => void
  readonly waiting: Map<number, { resolve(result: unknown): void; reject(error: Error): void }>
}

/** Asks a worker thread that answers with `answerRequests`. The thread starts with the first request, and again after it has ended. */
export function createWorkerClient<Request, Failure>(options: WorkerClientOptions<Failure>) {
  const { name, spawn, onDeath, onFailure, idleMilliseconds } = options
  let thread: Thread | undefined
  let nextId = 0
  let closed = false
  let terminated = false
  let idleAt = 0
  let idleTimer: NodeJS.Timeout | undefined
  let ending: Promise<void> | undefined

  const closedError = (): Error => onDeath(new Error(`${name} is closed`))

  /** Ends the thread if it has had nothing to do for long enough. */
  const endIfIdle = (): void => {
    idleTimer = undefined
    if (thread === undefined || idleMilliseconds === undefined) return
    const { waiting } = thread
    const left = waiting.size > 0 ? idleMilliseconds : idleAt - performance.now()
    if (left > 0) checkIdleLater(left)
    else {
      ending = endOf(thread)
      thread = undefined
    }
  }
  const checkIdleLater = (milliseconds: number): void => {
    idleTimer ??= setTimeout(endIfIdle, milliseconds).unref()
  }
  const noteWork = (): void => {
    if (idleMilliseconds === undefined) return
    idleAt = performance.now() + idleMilliseconds
    checkIdleLater(idleMilliseconds)
  }

  const start = (): Thread => {
    const worker = spawn()
    const started: Thread = { worker, send: createSend(worker), waiting: new Map() }
    const onEnd = (cause: string): void => {
      if (thread === started) thread = undefined
      const error = terminated ? closedError() : onDeath(new Error(`${name} died: ${cause}`))
      for (const { reject } of started.waiting.values()) reject(error)
      started.waiting.clear()
    }
    worker.on('message', (answer: Answer<Failure>) => {
      const { id, result, failure } = typeof answer === 'number' ? { id: answer } : answer
      const asked = started.waiting.get(id)
      started.waiting.delete(id)
      if (failure === undefined) asked?.resolve(result)
      else asked?.reject(onFailure(failure))
    })
    worker.on('error', (error: Error) => onEnd(error.message))
    worker.on('exit', (code) => onEnd(`it ended with ${code}`))
    return started
  }

  return {
    ask: <Result>(request: Request) =>
      new Promise<Result>((resolve, reject) => {
        if (closed) {
          reject(closedError())
          return
        }
        thread ??= start()
        noteWork()
        const id = nextId++
        thread.send([id, request] satisfies Question<Request>)
        thread.waiting.set(id, { resolve: resolve as (result: unknown) => void, reject })
      }),
    /** Returns how many requests have no answer yet. */
    underWay: () => thread?.waiting.size ?? 0,
    /** Ends the thread after its last answer. Requests from now on are rejected, as `onDeath` says. */
    async close() {
      closed = true
      clearTimeout(idleTimer)
      await ending
      if (thread !== undefined) await endOf(thread)
    },
    /** Ends the thread at once: requests without an answer are rejected too. */
    async terminate() {
      closed = true
      terminated = true
      clearTimeout(idleTimer)
      await Promise.all([ending, thread?.worker.terminate()])
    },
  }
}

/** Wakes the thread, which waits outside its event loop, with each message. */
function createSend(worker: Worker): Thread['send'] {
  const sent = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  worker.postMessage(sent)
  return (message) => {
    worker.postMessage(message)
    Atomics.add(sent, 0, 1)
    Atomics.notify(sent, 0)
  }
}

/** Ends a thread after its last answer. */
function endOf({ worker, send }: Thread): Promise<void> {
  send(null)
  // `once` from node:events would reject when the thread dies from an error.
  return new Promise((resolve) => worker.once('exit', () => resolve()))
}
