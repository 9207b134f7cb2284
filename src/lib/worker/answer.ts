import type { MessagePort } from 'node:worker_threads'
import type { Answer, Question } from './messages.ts'
import { createRest } from './rest.ts'

interface AnswerOptions {
  readonly failureOf?: (error: unknown) => NonNullable<unknown>
  /** Runs before the end is told to who asked. */
  readonly onClose?: () => Promise<void>
}

/** Runs at the other end: answers each request with what `work` returns or, if it throws, with the failure. */
export function answerRequests<Request>(
  port: MessagePort,
  work: (request: Request) => unknown,
  { failureOf = String, onClose = async () => undefined }: AnswerOptions = {},
): void {
  const rest = createRest()
  port.on('message', (question: Question<Request> | null) => {
    rest.worked()
    if (question === null) {
      void onClose().finally(() => port.close())
      return
    }
    const [id, request] = question
    try {
      const result = work(request)
      port.postMessage((result === undefined ? id : { id, result }) satisfies Answer<never>)
    } catch (error) {
      port.postMessage({ id, failure: failureOf(error) } satisfies Answer<unknown>)
    }
  })
}
