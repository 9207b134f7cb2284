export interface Line {
  /** Counted from 1, blank lines included. */
  readonly number: number
  /** Without its line break; null for a line longer than the limit, which was dropped. */
  readonly bytes: Buffer | null
}

const NEWLINE = 0x0a
const RETURN = 0x0d
const SPACE = 0x20
const TAB = 0x09
const MIN_BYTES = 1024
const NOTHING = Buffer.alloc(0)

/** Splits pieces of a text at LF or CRLF. Drops a byte order mark at its beginning. */
export function createLineSplitter(limit: number) {
  let number = 0
  /** The beginning of a line in the first `held` bytes. Copied: pieces may be as small as a byte, and cost hundreds each. */
  let partial = NOTHING
  let held = 0
  let tooLong = false

  const append = (bytes: Buffer): void => {
    if (tooLong || held + bytes.length > limit) {
      tooLong = true
      partial = NOTHING
      held = 0
      return
    }
    if (held + bytes.length > partial.length) {
      const size = Math.min(Math.max(held + bytes.length, partial.length * 2, MIN_BYTES), limit)
      const larger = Buffer.allocUnsafeSlow(size)
      partial.copy(larger, 0, 0, held)
      partial = larger
    }
    bytes.copy(partial, held)
    held += bytes.length
  }

  /** Ends the line with these bytes. Returns undefined for a blank one. */
  const finish = (end: Buffer): Line | undefined => {
    number++
    if (held > 0 || tooLong) append(end)
    const whole = held > 0 ? partial.subarray(0, held) : end
    const isTooLong = tooLong || whole.length > limit
    partial = NOTHING
    held = 0
    tooLong = false
    const bytes = trimmed(whole, number === 1)
    if (isTooLong) return { number, bytes: null }
    return isBlank(bytes) ? undefined : { number, bytes }
  }

  return {
    /**
     * Yields the lines that end in this piece, without blank ones. Makes each only when it is asked for: of short lines all together
     * would take a hundred times the memory of the piece.
     */
    *take(piece: Buffer) {
      let start = 0
      for (;;) {
        const end = piece.indexOf(NEWLINE, start)
        if (end < 0) break
        const line = finish(piece.subarray(start, end))
        if (line !== undefined) yield line
        start = end + 1
      }
      if (start < piece.length) append(piece.subarray(start))
    },
    /** Returns the last line if no line break ends it. */
    rest() {
      const line = held > 0 || tooLong ? finish(NOTHING) : undefined
      return line === undefined ? [] : [line]
    },
    /** Bytes held of a line that has not ended. */
    pending: () => held,
    /** The number of that line. */
    number: () => number + 1,
  }
}

function trimmed(line: Buffer, isFirst: boolean): Buffer {
  const start = isFirst && line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf ? 3 : 0
  const end = line.length > 0 && line[line.length - 1] === RETURN ? line.length - 1 : line.length
  return line.subarray(start, Math.max(start, end))
}

export function isBlank(line: Buffer): boolean {
  for (const byte of line) if (byte !== SPACE && byte !== TAB && byte !== RETURN) return false
  return true
}
