import { hash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { AppError, type ErrorDefinition } from '#src/lib/app-error.ts'
import { createLineSplitter, isBlank, type Line } from '#src/lib/lines/line-splitter.ts'
import { withoutMark } from '#src/lib/text.ts'
import { createLineReader } from '#src/purchase/intake/upload-line.ts'

/** A line of the file, as it is sent. */
export interface FileLine {
  readonly number: number
  readonly bytes: Buffer
  /** Bytes of the file up to its end. */
  readonly end: number
}

/** More than any server takes as one delivery. */
const MAX_LINE = 128 * 1024 * 1024
const NEWLINE = Buffer.from('\n')
const CLOSE = Buffer.from('}\n')

const invalid: ErrorDefinition = { code: 'INVALID_LINE', kind: 'invalid', message: 'The line is not valid.' }

/** Reads the lines of a file, without blank ones, each with an idempotency key wherever it is JSON. */
export async function* fileLines(file: Readable): AsyncGenerator<FileLine, void, undefined> {
  const splitter = createLineSplitter(MAX_LINE)
  const keyed = createKeying()
  let read = 0
  const sent = ({ number, bytes }: Line): FileLine[] => {
    if (bytes === null) {
      const message = `Line ${number} is longer than any delivery may be: nothing after it was sent.`
      throw new AppError(invalid, { message })
    }
    // Files that were put together have marks in between.
    let line: Buffer
    let rest = bytes
    do {
      line = rest
      rest = withoutMark(line)
    } while (rest.length < line.length)
    return isBlank(line) ? [] : [{ number, bytes: keyed(line), end: read }]
  }
  for await (const piece of file) {
    read += (piece as Buffer).length
    for (const line of splitter.take(piece as Buffer)) yield* sent(line)
  }
  for (const line of splitter.rest()) yield* sent(line)
}

/** A Map of V8 has at most 2^24 entries, so a large file needs several. */
const MAPS = 64

/** Counts how often each line has come, by its digest in hexadecimal digits. Two lines that share the first 52 bits share a count, which does no harm. */
function createRepeatCounts(): (digest: string) => number {
  const counts = Array.from({ length: MAPS }, () => new Map<number, number>())
  return (digest) => {
    const number = Number.parseInt(digest.slice(0, 13), 16)
    const among = counts[number % MAPS] as Map<number, number>
    const count = (among.get(number) ?? 0) + 1
    among.set(number, count)
    return count
  }
}

/**
 * Gives lines without an idempotency key one that is derived from the line and its place among equal lines, so that sending the file
 * again repeats nothing. Leaves lines alone that are not JSON: in a wrapper they could become something else.
 */
function createKeying(): (line: Buffer) => Buffer {
  const countOf = createRepeatCounts()
  const readLine = createLineReader('any')

  return (line) => {
    const digest = hash('sha256', line, 'hex')
    const count = countOf(digest)
    const body = bodyWithoutKey(line)
    if (body === undefined) return Buffer.concat([line, NEWLINE])
    return Buffer.concat([Buffer.from(`{"IdempotencyKey":"line-${digest}-${count}","Body":`), body, CLOSE])
  }

  function bodyWithoutKey(line: Buffer): Buffer | undefined {
    try {
      JSON.parse(line.toString())
      const { body, idempotencyKey } = readLine(line)
      return idempotencyKey === undefined ? body : undefined
    } catch {
      return undefined
    }
  }
}
