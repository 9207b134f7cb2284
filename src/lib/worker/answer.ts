import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import type { Answer, Message, Question } from './messages.ts'

interface AnswerOptions {
  readonly failureOf?: (error: unknown) => NonNullable<unknown>
  /** Runs before the end is told to who asked. */
  readonly onClose?: () => Promise<void>
  /** Whether `work` has left something to the event loop of this thread, which has no turn while requests are waited for. */
  readonly needsTurn?: () => boolean
}

/** V8 and Node leave a few things to the event loop, too. */
const TURN_EVERY_MILLISECONDS = 1000
/** After this time without a request the thread waits in its event loop, where nothing wakes it. */
const IDLE_MILLISECONDS = 5000

/**
 * Runs at the other end: answers each request with what `work` returns or, if it throws, with the failure. After a request the thread
 * waits for the next one outside its event loop, which costs it much less (docs/decisions/0061-waiting-outside-the-event-loop.md).
 */
export function answerRequests<Request>(
  port: MessagePort,
  work: (request: Request) => unknown,
  { failureOf = String, onClose = async () => undefined, needsTurn = () => false }: AnswerOptions = {},
): void {
  let sent: Int32Array | undefined
  let isExpected = false

  const answer = ([id, request]: Question<Request>): void => {
    try {
      const result = work(request)
      port.postMessage((result === undefined ? id : { id, result }) satisfies Answer<never>)
    } catch (error) {
      port.postMessage({ id, failure: failureOf(error) } satisfies Answer<unknown>)
    }
  }

  const take = (message: Message<Request>): void => {
    if (message === null) {
      sent = undefined
      void onClose().finally(() => port.close())
    } else if (ArrayBuffer.isView(message)) sent = message
    else answer(message)
  }

  const waitSoon = (): void => {
    if (isExpected) return
    isExpected = true
    setImmediate(waitOutside)
  }

  const waitOutside = (): void => {
    isExpected = false
    if (sent === undefined || needsTurn()) return
    const until = performance.now() + TURN_EVERY_MILLISECONDS
    do {
      // Read before the port is: what is sent after that ends the wait.
      const seen = Atomics.load(sent, 0)
      const next = receiveMessageOnPort(port)
      if (next !== undefined) take(next.message)
      // A thread with nothing to do must not be woken by its own wait. In its event loop it is woken by messages, too.
      else if (Atomics.wait(sent, 0, seen, IDLE_MILLISECONDS) === 'timed-out') return
    } while (sent !== undefined && !needsTurn() && performance.now() < until)
    waitSoon()
  }

  port.on('message', (message: Message<Request>) => {
    take(message)
    waitSoon()
  })
}
