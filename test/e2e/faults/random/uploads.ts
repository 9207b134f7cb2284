import { openUpload } from '../../../support/app/upload.ts'
import { fractions } from '../../../support/random.ts'
import { pace } from '../../../support/until.ts'
import { type Judge, judgeUpload, nameOf, type Sent } from './judge.ts'
import type { Replica } from './site.ts'

/** Longer than any fault: whoever loses patience earlier only sends again. */
export const PATIENCE_MILLISECONDS = 20_000
export const REFUSED_PAUSE_MILLISECONDS = 60

export interface Receipt {
  readonly ReceiptID: string
  readonly Duplicate: boolean
}

/** What somebody has who delivers. */
export interface Sending {
  readonly replicas: readonly Replica[]
  readonly judge: Judge
  /** No new deliveries; those that were sent are sent again until they have a receipt. */
  readonly stop: AbortSignal
  /** Not even that. */
  readonly abort: AbortSignal
}

interface UploadOptions extends Sending {
  readonly name: string
  readonly key: () => string
  /** Whether to send again what was answered so. */
  isUsual(status: number, sentAt: number, replica: Replica): boolean
  noteStored(name: string, sentAt: number, replica: Replica): void
}

interface Line {
  readonly sent: Sent
  readonly text: string
  /** From the first answer with one. */
  receipt: string | undefined
}

const ORDERS = 4
const MAX_OF_ORDER = 6
const MAX_BYTES = 100_000
/** Between the two parts of a file, so that they are committed apart. */
const MAX_PAUSE_MILLISECONDS = 1500
const PAUSE_MILLISECONDS = 300

/** Sends files with lines of several orders, as the guide says: again from the first line without a receipt, until each has one. */
export async function uploadFiles(options: UploadOptions): Promise<void> {
  const { name, key, isUsual, noteStored, replicas, judge, stop, abort } = options
  const draw = fractions(`uploads of ${name}`)

  const lineOf = (sent: Sent): Line => {
    const filler = 'x'.repeat(Math.floor(draw() ** 6 * MAX_BYTES))
    const body = `{"OrderID":"${sent.order}","Status":${sent.n % 4},"n":${sent.n},"filler":"${filler}"}`
    return { sent, text: `{"IdempotencyKey":"${nameOf(sent)}","Body":${body}}\n`, receipt: undefined }
  }
  const fileOf = (number: number): Line[] => {
    const counts = new Map<string, number>()
    return Array.from({ length: 1 + Math.floor(draw() * ORDERS * MAX_OF_ORDER) }, () => {
      const order = `${name}-file-${number}-${Math.floor(draw() * ORDERS)}`
      const n = counts.get(order) ?? 0
      counts.set(order, n + 1)
      return lineOf({ order, n })
    })
  }

  /** Resolves to the receipts of the lines that were answered: undefined for those that were answered otherwise. */
  const send = async (lines: readonly Line[], replica: Replica): Promise<(Receipt | undefined)[]> => {
    const sentAt = performance.now()
    const { sent, answers, done } = openUpload(replica.url, key())
    const ended = done.catch(() => undefined)
    const leave = AbortSignal.any([abort, AbortSignal.timeout(PATIENCE_MILLISECONDS)])
    leave.addEventListener('abort', () => sent.destroy())
    const texts = lines.map(({ text }) => text)
    const cut = Math.ceil(draw() * texts.length)
    sent.write(texts.slice(0, cut).join(''))
    await Promise.race([pace(draw() * MAX_PAUSE_MILLISECONDS), ended])
    sent.end(texts.slice(cut).join(''))
    const end = await ended
    sent.destroy()
    if (end && end.status !== 200 && !isUsual(end.status, sentAt, replica))
      judge.problem(`an upload of ${name} was answered ${end.status} ${end.error?.errorCode}`)
    return answers
      .filter(({ Line }) => Line !== null)
      .map(({ data, errorCode = '' }, index) => {
        const what = nameOf((lines[index] as Line).sent)
        const status = errorCode.startsWith('STORE_') ? 503 : errorCode === 'API_KEY_INVALID' ? 401 : 500
        if (data) noteStored(what, sentAt, replica)
        else if (!isUsual(status, sentAt, replica)) judge.problem(`${what} was answered ${errorCode} in an upload`)
        return data ?? undefined
      })
  }

  const sendOnce = async (lines: readonly Line[], attempt: number, replica: Replica): Promise<void> => {
    const receipts = await send(lines, replica)
    judgeUpload(
      lines.map(({ sent }) => sent),
      receipts,
      judge,
    )
    for (const [index, receipt] of receipts.entries()) {
      const line = lines[index] as Line
      if (receipt === undefined) continue
      if (receipt.Duplicate && attempt === 0) judge.problem(`the first attempt at ${nameOf(line.sent)} is a duplicate`)
      if (line.receipt === undefined) judge.acknowledge(receipt.ReceiptID, line.sent, receipt.Duplicate)
      else if (line.receipt !== receipt.ReceiptID) judge.problem(`${nameOf(line.sent)} got two receipts`)
      line.receipt = receipt.ReceiptID
    }
  }

  for (let number = 0; !stop.aborted; number++) {
    let left = fileOf(number)
    for (let attempt = 0; left.length > 0 && !abort.aborted; attempt++) {
      await sendOnce(left, attempt, replicas[(number + attempt) % replicas.length] as Replica)
      const first = left.findIndex(({ receipt }) => receipt === undefined)
      left = first < 0 ? [] : left.slice(first)
      await pace(left.length > 0 ? REFUSED_PAUSE_MILLISECONDS : PAUSE_MILLISECONDS)
    }
  }
}
