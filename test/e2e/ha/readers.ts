import { ask } from '../../support/app/ask.ts'
import { eventsOf } from '../../support/app/event-stream.ts'
import type { ServerProcess } from '../../support/processes/process.ts'
import { pace } from '../../support/until.ts'
import { reading, type Visitor } from '../faults/random/followers.ts'

export const WAYS = ['host list', 'HAProxy'] as const
/** How a server finds the database. */
export type Way = (typeof WAYS)[number]

/** A server, and when it answered what. */
export interface Replica {
  readonly way: Way
  readonly url: string
  readonly server: ServerProcess
  /** Deliveries that it stored, and those that it refused or did not answer. */
  readonly delivered: number[]
  readonly refused: number[]
  /** Logins with a page of the feed that worked, and those that did not. */
  readonly read: number[]
  readonly unread: number[]
}

export interface Follower {
  readonly name: string
  /** In the order in which they came. */
  receipts: string[]
  /** What it was told when its cursor was refused, because deliveries that it had seen were lost. */
  told: string[]
}

interface Entry {
  readonly ReceiptID: string
}

const PAUSE_MILLISECONDS = 500
/** Longer than any answer should take. */
export const PATIENCE_MILLISECONDS = 20_000

const patient = (abort: AbortSignal): AbortSignal =>
  AbortSignal.any([abort, AbortSignal.timeout(PATIENCE_MILLISECONDS)])

/** Goes on as it is told when its cursor is refused. */
function createFollower(name: string, goOn: (cursor: string) => void) {
  const follower: Follower = { name, receipts: [], told: [] }
  return {
    follower,
    take: ({ ReceiptID }: Entry) => void follower.receipts.push(ReceiptID),
    /** Returns the refusal, unless it is the one that tells. */
    refused(status: number, body: string) {
      const { errorCode, message } = JSON.parse(body)
      const cursor = /go on with the cursor (\S+)$/.exec(message)?.[1]
      if (errorCode !== 'DELIVERIES_LOST' || cursor === undefined) return { status, body }
      follower.told.push(message)
      goOn(cursor)
      return
    },
  }
}

export function followByPolls(visitor: Visitor) {
  let cursor = ''
  const { follower, take, refused } = createFollower('the follower by long polls', (left) => {
    cursor = left
  })
  const ended = reading(follower.name, visitor, async (url, headers) => {
    const query = new URLSearchParams({ limit: '500', wait: '10', payload: 'none', after: cursor })
    const signal = patient(visitor.abort)
    const { status, body } = await ask(`${url}/Purchase/feed?${query}`, { method: 'GET', headers, signal })
    if (status !== 200) return refused(status, body)
    const { Deliveries, NextCursor } = JSON.parse(body).data as { Deliveries: Entry[]; NextCursor: string }
    for (const entry of Deliveries) take(entry)
    cursor = NextCursor
    return
  })
  return { follower, ended }
}

/** Changes the server whenever its stream ends. */
export function followByStream(name: string, visitor: Visitor) {
  let last: Record<string, string> = {}
  const { follower, take, refused } = createFollower(name, (left) => {
    last = { 'last-event-id': left }
  })
  const ended = reading(name, visitor, async (url, headers) => {
    try {
      const events = eventsOf(`${url}/Purchase/feed?payload=none`, {
        headers: { ...headers, ...last },
        signal: visitor.abort,
      })
      for await (const { id, data } of events) {
        take(JSON.parse(data))
        if (id !== undefined) last = { 'last-event-id': id }
      }
      return { status: 503, body: '' }
    } catch (error) {
      const { status, message } = error as Error & { status?: number }
      if (status === undefined) throw error
      return refused(status, message)
    }
  })
  return { follower, ended }
}

/** Logs in at one server and reads a page of its feed, again and again, and notes when that worked. */
export async function keepReading({ url, read, unread }: Replica, { operator, abort }: Visitor): Promise<void> {
  while (!abort.aborted) {
    const works = await readOnce(url, operator, patient(abort)).catch(() => false)
    ;(works ? read : unread).push(performance.now())
    await pace(PAUSE_MILLISECONDS)
  }
}

async function readOnce(url: string, { email, password }: Visitor['operator'], signal: AbortSignal): Promise<boolean> {
  const login = await ask(`${url}/Login/Customer/Api/Verify`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ Email: email, Password: password }),
    signal,
  })
  if (login.status !== 200) return false
  const headers = { authorization: `Bearer ${JSON.parse(login.body).data.Token}` }
  const page = await ask(`${url}/Purchase/feed?limit=1`, { method: 'GET', headers, signal })
  return page.status === 200
}
