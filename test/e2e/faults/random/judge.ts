/** Which delivery it is: the nth of its order, from 0 on. */
export interface Sent {
  readonly order: string
  readonly n: number
}

export interface Judge {
  /** What is wrong, in the order in which it was seen. */
  readonly problems: readonly string[]
  problem(what: string): void
  /** Faults that are on, by name. */
  readonly on: Set<string>
  /** How often the set of faults changed. */
  changes(): number
  begin(fault: string): void
  end(fault: string): void
  /** Where each acknowledged delivery stands in its order, by receipt. */
  readonly acknowledged: ReadonlyMap<string, Sent>
  acknowledge(receipt: string, sent: Sent, isRetry?: boolean): void
  /** How many of them had been stored by an attempt without an answer. */
  retries(): number
  /** How many deliveries of each order were acknowledged. */
  readonly orders: ReadonlyMap<string, number>
}

/** A problem that is seen again and again is told a few times only. */
const MAX_PROBLEMS = 8

export function createJudge(): Judge {
  const problems: string[] = []
  const on = new Set<string>()
  const acknowledged = new Map<string, Sent>()
  const orders = new Map<string, number>()
  const began = performance.now()
  let changes = 0
  let retries = 0
  const judge: Judge = {
    problems,
    problem(what) {
      const seconds = ((performance.now() - began) / 1000).toFixed(1)
      const during = on.size === 0 ? 'with no fault on' : `during ${[...on].join(' and ')}`
      if (problems.length < MAX_PROBLEMS) problems.push(`after ${seconds} s, ${during}: ${what}`)
    },
    on,
    changes: () => changes,
    begin(fault) {
      changes++
      on.add(fault)
    },
    end(fault) {
      changes++
      on.delete(fault)
    },
    acknowledged,
    acknowledge(receipt, sent, isRetry = false) {
      if (isRetry) retries++
      const before = acknowledged.get(receipt)
      if (before) judge.problem(`${nameOf(sent)} got receipt ${receipt}, which is that of ${nameOf(before)}`)
      acknowledged.set(receipt, sent)
      orders.set(sent.order, Math.max(orders.get(sent.order) ?? 0, sent.n + 1))
    },
    retries: () => retries,
    orders,
  }
  return judge
}

export const nameOf = ({ order, n }: Sent): string => `${order}/${n}`

/** What somebody got who is to get each delivery once, those of an order as they were sent. */
export interface Ledger {
  readonly receipts: readonly string[]
  /** When it got something last. */
  takenAt(): number
  take(receipt: string, sent: Sent): void
}

export function createLedger(who: string, { problem }: Judge): Ledger {
  const receipts: string[] = []
  const next = new Map<string, number>()
  let takenAt = 0
  return {
    receipts,
    takenAt: () => takenAt,
    take(receipt, sent) {
      const expected = next.get(sent.order) ?? 0
      if (sent.n !== expected) problem(`${who} got ${nameOf(sent)} (${receipt}) where ${expected} comes next`)
      takenAt = performance.now()
      receipts.push(receipt)
      next.set(sent.order, sent.n + 1)
    },
  }
}

/** Once a line of an upload got no receipt, no later line of its order gets one: sent again, the first would be stored last. */
export function judgeUpload(lines: readonly Sent[], receipts: readonly unknown[], { problem }: Judge): void {
  const failed = new Map<string, Sent>()
  for (const [index, line] of lines.entries()) {
    const before = failed.get(line.order)
    if (receipts[index] === undefined) failed.set(line.order, before ?? line)
    else if (before) problem(`${nameOf(line)} got a receipt in the upload in which ${nameOf(before)} got none`)
  }
}

/** Reads the members of a delivery, as it is in the feed and in an export. */
export const sentOf = ({ OrderID, Payload }: { OrderID?: string; Payload?: { n?: number } }): Sent => ({
  order: String(OrderID),
  n: Number(Payload?.n),
})

/** Compares what somebody got with what the store holds, in the order of its commits. */
export function judgeReceipts(who: string, receipts: readonly string[], stored: readonly string[], judge: Judge): void {
  const at = stored.findIndex((receipt, index) => receipts[index] !== receipt)
  if (at !== -1)
    judge.problem(`${who}: entry ${at} of ${receipts.length} is ${receipts[at]}, the store has ${stored[at]}`)
  else if (receipts.length > stored.length)
    judge.problem(`${who} has ${receipts.length} deliveries, the store only ${stored.length}`)
}

/** Compares what the store holds with what was acknowledged. Suppliers go on until they have a receipt, so nothing else may be there. */
export function judgeStored(stored: Ledger, judge: Judge): void {
  const held = new Set(stored.receipts)
  for (const [receipt, sent] of judge.acknowledged)
    if (!held.has(receipt))
      judge.problem(`LOST: ${nameOf(sent)}, receipt ${receipt}, was answered 200 and is not in the store`)
  for (const receipt of held)
    if (!judge.acknowledged.has(receipt)) judge.problem(`${receipt} is in the store, and no supplier has this receipt`)
}

const PLAIN_OF_FAILED_START = /^teslim serve: [^\n]+$/

/** Returns lines of a server's log that no fault explains: what is not JSON, what ended the process, and a 500. */
export function complaintsOf(log: string, { started }: { readonly started: boolean }): string[] {
  // A process that is killed may leave the beginning of a line.
  return log
    .split('\n')
    .slice(0, -1)
    .filter((line) => {
      if (!line.startsWith('{')) return started || !PLAIN_OF_FAILED_START.test(line)
      const { level, msg } = JSON.parse(line)
      return level >= 60 || msg === 'request failed' || /unhandled/i.test(msg)
    })
}

/** The last lines of a log, without those of requests unless they were a 500. */
export const tailOf = (log: string, lines = 20): string =>
  log
    .split('\n')
    .filter((line) => !line.includes('"msg":"request"') || line.includes('"status":500'))
    .slice(-lines)
    .join('\n')
