export interface Statement {
  readonly name: string
  readonly text: string
}

/** Each method adds the next parameter of a statement. */
export interface Parameters {
  absent(): void
  /** Adds one value, given in parts. */
  bytes(parts: readonly Uint8Array[]): void
  /** This method and those below add an array. */
  numbers(type: keyof typeof NUMBERS, values: readonly (number | null)[]): void
  booleans(values: readonly boolean[]): void
  uuids(values: readonly (string | null)[]): void
  blobs(values: readonly (Uint8Array | null)[]): void
  texts(values: readonly (string | null)[]): void
}

/** Whether the connection has prepared the statement, is to prepare it, or gets its text each time. */
export type Preparation = 'prepared' | 'prepare' | 'once'

/**
 * Writes a statement and its parameters as messages of PostgreSQL's protocol (its chapter "Message Formats"; for arrays
 * src/backend/utils/adt/arrayfuncs.c) into memory that is reused. The driver would allocate a batch three times outside of
 * V8's heap, which causes full garbage collections (docs/decisions/0008).
 */
export interface Message {
  /** The result is valid until the next call. */
  write(statement: Statement, preparation: Preparation, addParameters: (parameters: Parameters) => void): Uint8Array
  /** Returns the bytes of memory that it holds. */
  size(): number
}

const NUMBERS = { int2: { oid: 21, bytes: 2 }, int4: { oid: 23, bytes: 4 }, int8: { oid: 20, bytes: 8 } } as const
const BOOLEAN = 16
const BYTEA = 17
const TEXT = 25
const UUID = 2950
const NULL = -1
const FIRST_SIZE = 64 * 1024
const TWO_TO_32 = 2 ** 32
const [PARSE, BIND, DESCRIBE, EXECUTE, SYNC, PORTAL] = ['P', 'B', 'D', 'E', 'S', 'P'].map((letter) =>
  letter.charCodeAt(0),
) as [number, number, number, number, number, number]

export function createMessage(): Message {
  let buffer = Buffer.allocUnsafeSlow(FIRST_SIZE)
  let view = new DataView(buffer.buffer)
  let end = 0
  let count = 0

  const makeRoom = (bytes: number): void => {
    if (end + bytes <= buffer.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(2 * buffer.length, end + bytes))
    buffer.copy(larger, 0, 0, end)
    buffer = larger
    view = new DataView(buffer.buffer)
  }
  const byte = (value: number): void => {
    makeRoom(1)
    buffer[end++] = value
  }
  const int2 = (value: number): void => {
    makeRoom(2)
    view.setInt16(end, value)
    end += 2
  }
  const int4 = (value: number): void => {
    makeRoom(4)
    view.setInt32(end, value)
    end += 4
  }
  const int8 = (value: number): void => {
    makeRoom(8)
    view.setInt32(end, Math.floor(value / TWO_TO_32))
    view.setInt32(end + 4, value)
    end += 8
  }
  const write = { int2, int4, int8 }
  const text = (value: string): void => {
    makeRoom(3 * value.length)
    end += buffer.write(value, end)
  }
  const zeroEnded = (value: string): void => {
    text(value)
    byte(0)
  }
  /** Writes the length before the content. In a message (`itself` 4) the length includes itself. */
  const measured = (itself: 0 | 4, work: () => void): void => {
    const start = end
    int4(0)
    work()
    view.setInt32(start, end - start - 4 + itself)
  }
  const part = (kind: number, work: () => void): void => {
    byte(kind)
    measured(4, work)
  }

  const array = <Value>(oid: number, values: readonly Value[], addValue: (value: Value) => void): void => {
    count++
    measured(0, () => {
      int4(1) // dimension
      int4(1) // may hold NULL
      int4(oid)
      int4(values.length)
      int4(1) // the first place
      for (const value of values) {
        if (value === null) int4(NULL)
        else addValue(value)
      }
    })
  }

  const parameters: Parameters = {
    absent() {
      count++
      int4(NULL)
    },
    bytes(parts) {
      count++
      measured(0, () => {
        for (const part of parts) {
          makeRoom(part.length)
          buffer.set(part, end)
          end += part.length
        }
      })
    },
    numbers(type, values) {
      const { oid, bytes } = NUMBERS[type]
      array(oid, values, (value) => {
        int4(bytes)
        write[type](value as number)
      })
    },
    booleans(values) {
      array(BOOLEAN, values, (value) => {
        int4(1)
        byte(Number(value))
      })
    },
    uuids(values) {
      array(UUID, values, (value) => {
        int4(16)
        makeRoom(16)
        end += buffer.write((value as string).replaceAll('-', ''), end, 'hex')
      })
    },
    blobs(values) {
      array(BYTEA, values, (value) => {
        const bytes = value as Uint8Array
        int4(bytes.length)
        makeRoom(bytes.length)
        buffer.set(bytes, end)
        end += bytes.length
      })
    },
    texts(values) {
      array(TEXT, values, (value) => measured(0, () => text(value as string)))
    },
  }

  return {
    write(statement, preparation, addParameters) {
      end = 0
      const name = preparation === 'once' ? '' : statement.name
      if (preparation !== 'prepared') {
        part(PARSE, () => {
          zeroEnded(name)
          zeroEnded(statement.text)
          int2(0) // types
        })
      }
      part(BIND, () => {
        zeroEnded('') // portal
        zeroEnded(name)
        int2(1) // format for all:
        int2(1) // binary
        const place = end
        int2(0)
        count = 0
        addParameters(parameters)
        view.setInt16(place, count)
        int2(0) // all results as text
      })
      part(DESCRIBE, () => {
        byte(PORTAL)
        byte(0)
      })
      part(EXECUTE, () => {
        byte(0)
        int4(0) // all rows
      })
      part(SYNC, () => undefined)
      return buffer.subarray(0, end)
    },
    size: () => buffer.length,
  }
}
