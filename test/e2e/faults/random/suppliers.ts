import { ask } from '../../../support/app/ask.ts'
import { fractions } from '../../../support/random.ts'
import { pace } from '../../../support/until.ts'
import { nameOf, type Sent } from './judge.ts'
import type { Replica } from './site.ts'
import {
  PATIENCE_MILLISECONDS,
  REFUSED_PAUSE_MILLISECONDS,
  type Receipt,
  type Sending,
  uploadFiles,
} from './uploads.ts'

export interface Account {
  readonly id: string
  readonly email: string
  readonly password: string
  readonly keyId: string
  readonly key: string
}

/** Delivers orders, one delivery after the other, each until there is a receipt, and files of them by uploads. */
export interface Supplier {
  readonly account: Account
  /** From now on it may be refused; once the operator's command is done, and a moment later, it must be. */
  beforeDenied(): void
  denied(): void
  /** It may deliver again, with another key if there is one. */
  allowed(key?: { readonly id: string; readonly key: string }): void
  /** Whether it may not log in either, as far as anybody can know. */
  mayBeRefused(): boolean
  /** How often its right was taken away so far. */
  denials(): number
  /** When the last delivery that was stored was sent. */
  storedAt(): number
  /** Resolves when all lanes have ended. */
  readonly ended: Promise<unknown>
}

const NEVER = Number.POSITIVE_INFINITY
const LANES = 4
const MAX_ORDER = 12
const MAX_BYTES = 40_000
const PAUSE_MILLISECONDS = 40
/** A second, as promised, and as much again for a busy machine. */
const SEEN_MILLISECONDS = 2500

interface SupplierOptions extends Sending {
  readonly account: Account
}

export function startSupplier({ account: given, replicas, judge, stop, abort }: SupplierOptions): Supplier {
  let account = given
  /** When the operator took its right away, and when it was to be given back. */
  let deniedAt = NEVER
  let allowedAt = 0
  let denials = 0
  let storedAt = 0
  /** Since when a server takes its deliveries. */
  const takenSince = new Map(replicas.map((replica) => [replica, 0]))
  const draw = fractions(account.email)

  const send = async (body: string, idempotencyKey: string, replica: Replica): Promise<Receipt | undefined> => {
    const sentAt = performance.now()
    const answer = await ask(`${replica.url}/Purchase/update`, {
      method: 'POST',
      headers: { ApiKey: account.key, 'Idempotency-Key': idempotencyKey },
      body,
      signal: AbortSignal.any([abort, AbortSignal.timeout(PATIENCE_MILLISECONDS)]),
    }).catch(() => undefined)
    if (answer === undefined || isUsual(answer.status, sentAt, replica)) return
    if (answer.status !== 200) {
      judge.problem(`${idempotencyKey} of ${account.email} was answered ${answer.status}: ${answer.body}`)
      return
    }
    noteStored(idempotencyKey, sentAt, replica)
    return (JSON.parse(answer.body) as { data: Receipt }).data
  }
  const isUsual = (status: number, sentAt: number, replica: Replica): boolean =>
    status === 503 || (status === 401 && sentAt < Number(takenSince.get(replica)))
  const noteStored = (name: string, sentAt: number, replica: Replica): void => {
    if (sentAt > deniedAt + SEEN_MILLISECONDS && judge.on.size === 1)
      judge.problem(`${account.email} delivered ${name} ${Math.round(sentAt - deniedAt)} ms after it may no more`)
    if (sentAt > allowedAt && takenSince.get(replica) === NEVER) takenSince.set(replica, performance.now())
    storedAt = sentAt
    replica.storedAt = sentAt
  }

  const deliver = async (sent: Sent, lane: number): Promise<void> => {
    const filler = 'x'.repeat(Math.floor(draw() ** 6 * MAX_BYTES))
    const body = `{"OrderID":"${sent.order}","Status":${sent.n % 4},"n":${sent.n},"filler":"${filler}"}`
    for (let attempt = 0; !abort.aborted; attempt++) {
      const replica = replicas[(lane + sent.n + attempt) % replicas.length] as Replica
      const receipt = await send(body, nameOf(sent), replica)
      if (receipt?.Duplicate && attempt === 0) judge.problem(`the first attempt at ${nameOf(sent)} is a duplicate`)
      if (receipt !== undefined) return judge.acknowledge(receipt.ReceiptID, sent, receipt.Duplicate)
      await pace(REFUSED_PAUSE_MILLISECONDS)
    }
  }

  const work = async (lane: number): Promise<void> => {
    for (let number = 0; !stop.aborted; number++) {
      const length = 1 + Math.floor(draw() * MAX_ORDER)
      for (let n = 0; n < length && !stop.aborted; n++) {
        await deliver({ order: `${account.email}-${lane}-${number}`, n }, lane)
        await pace(PAUSE_MILLISECONDS)
      }
    }
  }

  return {
    get account() {
      return account
    },
    beforeDenied() {
      denials++
      allowedAt = NEVER
      for (const replica of replicas) takenSince.set(replica, NEVER)
    },
    denied() {
      deniedAt = performance.now()
    },
    allowed(key) {
      deniedAt = NEVER
      allowedAt = performance.now()
      if (key) account = { ...account, keyId: key.id, key: key.key }
    },
    mayBeRefused: () => [...takenSince.values()].includes(NEVER),
    denials: () => denials,
    storedAt: () => storedAt,
    ended: Promise.all([
      ...Array.from({ length: LANES }, (_, lane) => work(lane)),
      uploadFiles({ name: account.email, key: () => account.key, isUsual, noteStored, replicas, judge, stop, abort }),
    ]),
  }
}
