import type { ServerAddress } from '../../input/server-address.ts'
import type { FileLine } from './file-lines.ts'
import { type LineAnswer, openUpload, type UploadEnd } from './upload-request.ts'

interface Delivered {
  readonly stored: number
  readonly duplicates: number
  readonly refused: number
  /** Why not every line was answered; undefined if every line was. */
  readonly reason: string | undefined
}

interface DeliverLinesOptions {
  readonly lines: AsyncIterator<FileLine>
  readonly server: ServerAddress
  readonly key: string
  readonly validates: boolean
  readonly stop: AbortSignal
  readonly monotonic: () => number
  /** Resolves after that time, or earlier when `stop` is aborted. */
  readonly wait: (milliseconds: number) => Promise<void>
  readonly onAnswered: (line: FileLine) => void
  readonly onRefused: (line: FileLine, answer: LineAnswer) => void
  readonly onRetry: (reason: string, seconds: number) => void
}

/** Lines sent and not answered: they are kept, to be sent again over another connection. */
const MAX_LINES = 1024
const MAX_BYTES = 4 * 1024 * 1024

const FIRST_PAUSE_MILLISECONDS = 500
const MAX_PAUSE_MILLISECONDS = 30_000
/** How long it tries without a single answer. */
const PATIENCE_MILLISECONDS = 600_000

const RETRIED_STATUSES = new Set([408, 429, 500, 502, 503, 504])
/** Error codes after which a line is sent again, with all lines after it: no line of its order after it was stored. */
const RETRIED_CODES = /^STORE_/
/** Error codes that every later line would get, too: the command stops. */
const KEY_CODES = /^(API_KEY|TOKEN)_/

/** Sends lines until each is answered, over as many connections as that takes. */
export async function deliverLines(options: DeliverLinesOptions): Promise<Delivered> {
  const { lines, server, key, validates, stop, monotonic, wait, onAnswered, onRefused, onRetry } = options
  const unanswered: FileLine[] = []
  let bytes = 0
  const counts = { stored: 0, duplicates: 0, refused: 0 }
  let answered = 0
  let wasReached = false
  let fatal: string | undefined
  /** Why the server ended the last request before all lines were answered. */
  let lastWords: string | undefined
  let isRead = false
  let upcoming: Promise<IteratorResult<FileLine>> | undefined
  let change = Promise.withResolvers<void>()

  const announce = (): void => {
    change.resolve()
    change = Promise.withResolvers()
  }
  const readNext = (): Promise<IteratorResult<FileLine>> => {
    if (upcoming === undefined) {
      upcoming = lines.next()
      // The error reaches whoever awaits it.
      upcoming.catch(() => undefined)
    }
    return upcoming
  }

  const count = (line: FileLine, answer: LineAnswer): void => {
    if (!answer.success) counts.refused++
    else if (answer.data?.Duplicate) counts.duplicates++
    else counts.stored++
    answered++
    bytes -= line.bytes.length
    if (!answer.success) onRefused(line, answer)
    onAnswered(line)
  }

  const sendOver = async (): Promise<UploadEnd> => {
    let isOver = false
    let isRetried = false
    let heard = 0
    const onAnswer = (answer: LineAnswer): void => {
      wasReached = true
      const { Line: number, success, errorCode = '' } = answer
      if (number === null) {
        lastWords = answer.message
        return
      }
      heard++
      if (number !== heard) fatal ??= `the server answered line ${number} of this connection instead of line ${heard}`
      else if (!success && KEY_CODES.test(errorCode)) fatal ??= answer.message
      isRetried ||= !success && RETRIED_CODES.test(errorCode)
      const line = fatal === undefined && !isRetried ? unanswered.shift() : undefined
      if (line !== undefined) count(line, answer)
      announce()
    }
    const upload = await openUpload({ server, key, validates, onAnswer })
    void upload.ended.then(() => {
      isOver = true
      announce()
    })
    stop.addEventListener('abort', upload.cancel)
    const goesOn = (): boolean => !isOver && fatal === undefined && !stop.aborted
    try {
      for (const line of [...unanswered]) if (goesOn()) await upload.send(line.bytes)
      while (goesOn() && !isRead) {
        if (unanswered.length >= MAX_LINES || bytes >= MAX_BYTES) {
          await change.promise
          continue
        }
        const next = await Promise.race([readNext(), change.promise])
        if (next === undefined || !goesOn()) continue
        upcoming = undefined
        if (next.done) isRead = true
        else {
          unanswered.push(next.value)
          bytes += next.value.bytes.length
          await upload.send(next.value.bytes)
        }
      }
      if (goesOn()) upload.finish()
      while (goesOn()) await change.promise
      if (!isOver) upload.cancel()
      return await upload.ended
    } finally {
      stop.removeEventListener('abort', upload.cancel)
      upload.cancel()
    }
  }

  /** Whether there is something to send. Waits for a line before it connects, as servers do not wait long for one. */
  const hasMore = async (): Promise<boolean> => {
    if (unanswered.length > 0) return true
    if (isRead) return false
    const stopped = Promise.withResolvers<undefined>()
    stop.addEventListener('abort', () => stopped.resolve(undefined), { once: true })
    const next = await Promise.race([readNext(), stopped.promise])
    return next !== undefined && !next.done
  }

  let pause = FIRST_PAUSE_MILLISECONDS
  let answeredAt = monotonic()
  while (!stop.aborted && (await hasMore())) {
    const before = answered
    lastWords = undefined
    const end = await sendOver()
    if (fatal !== undefined) return { ...counts, reason: fatal }
    if (end.kind === 'refused') {
      wasReached = true
      if (!RETRIED_STATUSES.has(end.status)) return { ...counts, reason: end.message }
    }
    if (isRead && unanswered.length === 0) break
    if (stop.aborted) break
    const reason =
      end.kind === 'broken' ? end.reason : end.kind === 'refused' ? end.message : (lastWords ?? 'it ended the upload')
    if (!wasReached) return { ...counts, reason: `the server cannot be reached: ${reason}` }
    if (answered > before) {
      pause = FIRST_PAUSE_MILLISECONDS
      answeredAt = monotonic()
    } else if (monotonic() - answeredAt > PATIENCE_MILLISECONDS) {
      return { ...counts, reason: `the server has not answered for ten minutes: ${reason}` }
    }
    onRetry(reason, pause / 1000)
    await wait(pause)
    pause = Math.min(pause * 2, MAX_PAUSE_MILLISECONDS)
  }
  return { ...counts, reason: stop.aborted ? 'stopped' : undefined }
}
