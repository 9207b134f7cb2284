import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import type { Answer, Join, Question } from './messages.ts'

/** The result of a request, or why it failed. */
export type Settled = { readonly result: unknown } | { readonly error: unknown }

export function settled(work: () => unknown): Settled {
  try {
    return { result: work() }
  } catch (error) {
    return { error }
  }
}

export interface AnswerOptions<Request> {
  readonly failureOf?: (error: unknown) => NonNullable<unknown>
  /** Runs before the end is told to who asked. */
  readonly onClose?: () => Promise<void>
  /** For requests that cost less together: those that wait at the same time, from all clients of this thread. */
  readonly together?: {
    accepts(request: Request): boolean
    work(requests: readonly Request[]): readonly Settled[]
  }
}

interface Asked<Request> {
  readonly question: Question<Request>
  readonly from: MessagePort
}

/** Runs at the other end: answers each request with what `work` returns or, if it throws, with the failure. */
export function answerRequests<Request>(
  port: MessagePort,
  work: (request: Request) => unknown,
  { failureOf = String, onClose = async () => undefined, together }: AnswerOptions<Request> = {},
): void {
  type Message = Question<Request> | Join | null
  const joined = new Set<MessagePort>()

  const answer = ({ question: { id }, from }: Asked<Request>, outcome: Settled): void => {
    const fail = (error: unknown): void => from.postMessage({ id, failure: failureOf(error) } satisfies Answer<unknown>)
    if ('error' in outcome) fail(outcome.error)
    else {
      try {
        from.postMessage({ id, result: outcome.result } satisfies Answer<never>)
      } catch (error) {
        fail(error)
      }
    }
  }
  const isTogether = (message: Message): boolean =>
    message !== null && 'request' in message && together?.accepts(message.request) === true

  /** Takes what waits on a port, up to the first message of another kind, which is returned. */
  const takeWaiting = (from: MessagePort, group: Asked<Request>[]): Message | undefined => {
    for (;;) {
      const received: { message: Message } | undefined = receiveMessageOnPort(from)
      if (received === undefined) return undefined
      if (!isTogether(received.message)) return received.message
      group.push({ question: received.message as Question<Request>, from })
    }
  }
  const answerTogether = (first: Asked<Request>): void => {
    const group = [first]
    const others = [port, ...joined].map((from) => [takeWaiting(from, group), from] as const)
    const requests = group.map(({ question }) => question.request)
    const outcomes = group.length > 1 ? together?.work(requests) : undefined
    for (const [index, asked] of group.entries()) {
      answer(asked, outcomes?.[index] ?? settled(() => work(asked.question.request)))
    }
    for (const [message, from] of others) if (message !== undefined) take(message, from)
  }
  const take = (message: Message, from: MessagePort): void => {
    if (message === null) close(from)
    else if ('join' in message) admit(message.join)
    else {
      const asked = { question: message, from }
      if (isTogether(message)) answerTogether(asked)
      else
        answer(
          asked,
          settled(() => work(message.request)),
        )
    }
  }
  const admit = (other: MessagePort): void => {
    joined.add(other)
    other.on('message', (message: Message) => take(message, other))
    other.on('close', () => joined.delete(other))
  }
  const close = (from: MessagePort): void => {
    if (from !== port) {
      from.close()
      return
    }
    for (const other of joined) other.close()
    void onClose().finally(() => port.close())
  }
  port.on('message', (message: Message) => take(message, port))
}
