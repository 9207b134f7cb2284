const BEGIN = 'HTTP/1.1 1'
/** Not 101, which changes the protocol. */
const STATUS_LINE = /^HTTP\/1\.1 1(?!01)\d\d/
const DECIDES = BEGIN.length + 2
const END = '\r\n\r\n'
const NOTHING = Buffer.alloc(0)

/** Removes interim answers (100 Continue, 102, 103) from what a connection receives: undici takes 100 for an error. */
export function createInterim() {
  let isOver = false
  let isInside = false
  let isHeard = false
  /** Too few bytes to decide on. */
  let held: Buffer = NOTHING
  const hold = (bytes: Buffer): Buffer => {
    held = bytes
    return NOTHING
  }
  return {
    /** A request begins, so an answer comes next. */
    begin() {
      isOver = false
      isInside = false
      isHeard = false
      held = NOTHING
    },
    /** Returns the bytes that are left. */
    pass(received: Buffer) {
      isHeard = true
      if (isOver) return received
      let bytes = held.length === 0 ? received : Buffer.concat([held, received])
      held = NOTHING
      for (;;) {
        if (isInside) {
          const end = bytes.indexOf(END)
          if (end < 0) return hold(bytes.subarray(1 - END.length))
          bytes = bytes.subarray(end + END.length)
        }
        const line = bytes.toString('latin1', 0, DECIDES)
        isInside = STATUS_LINE.test(line)
        if (isInside) continue
        if (line.length < DECIDES && BEGIN.startsWith(line.slice(0, BEGIN.length))) return hold(bytes)
        isOver = true
        return bytes
      }
    },
    /** Whether anything came since the request began. */
    isHeard: () => isHeard,
  }
}
