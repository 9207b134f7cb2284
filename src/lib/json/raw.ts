import { randomUUID } from 'node:crypto'

const RAW = Symbol('raw')

/** JSON text that is copied into an answer unchanged: parsing and rewriting it would change numbers beyond 2^53. */
export interface RawJson {
  readonly [RAW]: Uint8Array
  toJSON(): string
}

export const rawJson = (bytes: Uint8Array): RawJson => ({ [RAW]: bytes, toJSON: mark })

/** Stands for raw JSON in what JSON.stringify writes. No other text is the same: nobody ever sees it. */
const MARK = randomUUID()

/** What has been marked, in its order. */
let marked: Uint8Array[] = []

function mark(this: RawJson): string {
  marked.push(this[RAW])
  return MARK
}

/** Does what JSON.stringify does, copies raw JSON byte for byte, and appends `end`. */
export function writeJson(value: unknown, end = ''): Buffer {
  marked = []
  const texts = `${JSON.stringify(value)}${end}`.split(`"${MARK}"`)
  const raw = marked
  marked = []
  return Buffer.concat(texts.flatMap((text, index) => [Buffer.from(text), raw[index] ?? Buffer.alloc(0)]))
}
