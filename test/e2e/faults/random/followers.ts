import { ask } from '../../../support/app/ask.ts'
import { eventsOf, type StreamEvent } from '../../../support/app/event-stream.ts'
import { pace } from '../../../support/until.ts'
import { createLedger, type Judge, type Ledger, sentOf } from './judge.ts'
import type { Replica } from './site.ts'
import type { Account } from './suppliers.ts'

/** Somebody who reads with an operator's token. */
export interface Visitor {
  readonly judge: Pick<Judge, 'problem'>
  readonly replicas: readonly { readonly url: string }[]
  readonly operator: { readonly email: string; readonly password: string }
  readonly abort: AbortSignal
}

export interface Reader extends Visitor {
  readonly judge: Judge
  readonly replicas: readonly Replica[]
  readonly operator: Account
}

export interface Follower extends Ledger {
  readonly name: string
  readonly ended: Promise<void>
}

interface Entry {
  readonly ReceiptID: string
  readonly OrderID?: string
  readonly Payload?: { readonly n?: number }
}

const RETRY_MILLISECONDS = 100

/** Logs in until it works. */
export async function logIn(
  url: string,
  { email, password }: Visitor['operator'],
  abort: AbortSignal,
): Promise<string> {
  for (;;) {
    abort.throwIfAborted()
    const answer = await ask(`${url}/Login/Customer/Api/Verify`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ Email: email, Password: password }),
      signal: abort,
    }).catch(() => undefined)
    if (answer?.status === 200) return JSON.parse(answer.body).data.Token
    await pace(RETRY_MILLISECONDS)
  }
}

/** Reads again and again with a token, at one server after the other, until it is over. A refusal other than 503 is a problem. */
export async function reading(
  name: string,
  { judge, replicas, operator, abort }: Visitor,
  read: (
    url: string,
    headers: Record<string, string>,
  ) => Promise<{ readonly status: number; readonly body: string } | undefined>,
): Promise<void> {
  let token: string | undefined
  for (let attempt = 0; !abort.aborted; attempt++) {
    const { url } = replicas[attempt % replicas.length] as { url: string }
    try {
      token ??= await logIn(url, operator, abort)
      const refused = await read(url, { authorization: `Bearer ${token}` })
      if (refused === undefined) continue
      if (refused.status !== 503) judge.problem(`${name} was answered ${refused.status}: ${refused.body}`)
    } catch {
      // No answer, or one that broke off.
    }
    await pace(RETRY_MILLISECONDS)
  }
}

/** Keeps its cursor with what it has read, as examples/follower.js does. */
export function followByPolls(reader: Reader): Follower {
  const name = 'the follower by long polls'
  const ledger = createLedger(name, reader.judge)
  let cursor = ''
  const ended = reading(name, reader, async (url, headers) => {
    const query = new URLSearchParams({ limit: '200', wait: '10', after: cursor })
    const answer = await ask(`${url}/Purchase/feed?${query}`, { method: 'GET', headers, signal: reader.abort })
    if (answer.status !== 200) return answer
    const { Deliveries, NextCursor } = JSON.parse(answer.body).data as { Deliveries: Entry[]; NextCursor: string }
    for (const entry of Deliveries) ledger.take(entry.ReceiptID, sentOf(entry))
    cursor = NextCursor
    return
  })
  return { ...ledger, name, ended }
}

export function followByStream(reader: Reader): Follower {
  const name = 'the follower by a stream'
  const ledger = createLedger(name, reader.judge)
  const ended = streaming(name, '/Purchase/feed', reader, ({ data }) => {
    const entry = JSON.parse(data) as Entry
    ledger.take(entry.ReceiptID, sentOf(entry))
  })
  return { ...ledger, name, ended }
}

/** Takes the events of a stream, and resumes after the last one whenever it ends. */
export function streaming(
  name: string,
  path: string,
  reader: Reader,
  take: (event: StreamEvent) => void,
): Promise<void> {
  let last: Record<string, string> = {}
  return reading(name, reader, async (url, headers) => {
    try {
      for await (const event of eventsOf(url + path, { headers: { ...headers, ...last }, signal: reader.abort })) {
        take(event)
        if (event.id !== undefined) last = { 'last-event-id': event.id }
      }
      // It ended in order: EventSource connects again.
      return { status: 503, body: '' }
    } catch (error) {
      const { status, message } = error as Error & { status?: number }
      if (status !== undefined) return { status, body: message }
      throw error
    }
  })
}

export interface LiveView {
  /** How many deliveries its frames have counted. */
  counted(): number
  readonly ended: Promise<void>
}

/** Counts as the console's page does. */
export function watchLive(reader: Reader): LiveView {
  const seconds = new Map<number, number>()
  const ended = streaming('the live view', '/Operator/live', reader, ({ data }) => {
    const { Since, Seconds } = JSON.parse(data) as { Since?: number; Seconds: { At: number; ByStatus: number[] }[] }
    if (Since !== undefined) for (const second of seconds.keys()) if (second >= Since) seconds.delete(second)
    for (const { At, ByStatus } of Seconds) {
      const sum = ByStatus.reduce((one, other) => one + other, 0)
      seconds.set(At, (seconds.get(At) ?? 0) + sum)
    }
  })
  return { counted: () => [...seconds.values()].reduce((one, other) => one + other, 0), ended }
}
