import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

/** Split at commas or semicolons; quoted text may contain both. */
const BETWEEN_COMMAS = /(?:[^,"]|"(?:[^"\\]|\\.)*"?)+/g
const BETWEEN_SEMICOLONS = /(?:[^;"]|"(?:[^"\\]|\\.)*"?)+/g

/**
 * Returns which of these media types an `Accept` header names with at least the weight of JSON (RFC 9110, 12.5.1); of equal ones the
 * first. A wildcard does not ask for them: a client that accepts anything gets JSON, not a stream.
 */
export function preferredType<Type extends string>(types: readonly Type[], accept = ''): Type | undefined {
  const weights = weightsOf(accept)
  const weightIn = (type: string): number => weights.get(type) ?? 0
  // The most specific range that matches JSON counts.
  const json = weights.get('application/json') ?? weights.get('application/*') ?? weights.get('*/*') ?? 0
  const [best] = types.toSorted((one, other) => weightIn(other) - weightIn(one))
  return best !== undefined && weightIn(best) > 0 && weightIn(best) >= json ? best : undefined
}

export const prefersEvents = (accept?: string): boolean => preferredType(['text/event-stream'], accept) !== undefined

/** Whether an `Accept` header names OpenMetrics with at least the weight of plain text. Prometheus does. */
export function prefersOpenMetrics(accept = ''): boolean {
  const weights = weightsOf(accept)
  const open = weights.get('application/openmetrics-text') ?? 0
  return open > 0 && open >= (weights.get('text/plain') ?? 0)
}

/** The content codings that answers can have, best first. */
export const CODINGS = ['br', 'gzip'] as const
export type Coding = (typeof CODINGS)[number]

interface Preference {
  /** The coding to use; undefined to send the answer as it is. */
  readonly coding: Coding | undefined
  /** Whether the client refuses an answer without a coding. */
  readonly refusesPlain: boolean
}

/** Longer headers count as not sent: no client needs one, and anybody may send them. */
const MAX_LENGTH = 1000

const PLAIN: Preference = { coding: undefined, refusesPlain: false }

/**
 * Chooses a content coding by an `Accept-Encoding` header (RFC 9110, 12.5.3): the one with the highest weight, of equal ones the
 * smallest result. Codings that are not named are refused; plain answers only if the header says so.
 */
export function preferredCoding(acceptEncoding: string | undefined): Preference {
  if (acceptEncoding === undefined || acceptEncoding.length > MAX_LENGTH) return PLAIN
  const weights = weightsOf(acceptEncoding)
  const any = weights.get('*')
  const weightOf = (...names: string[]): number | undefined => {
    const named = names.map((name) => weights.get(name)).filter((weight) => weight !== undefined)
    return named.length > 0 ? Math.max(...named) : any
  }
  const plain = weightOf('identity')
  const offered = { br: weightOf('br') ?? 0, gzip: weightOf('gzip', 'x-gzip') ?? 0 }
  const coding = offered.br >= offered.gzip ? 'br' : 'gzip'
  const weight = offered[coding]
  if (weight <= 0 || (plain !== undefined && plain > weight)) return PLAIN
  return { coding, refusesPlain: plain !== undefined && plain <= 0 }
}

/** Returns the highest weight of each named range or coding, by its name in lower case. */
function weightsOf(accept: string): Map<string, number> {
  const weights = new Map<string, number>()
  for (const part of accept.match(BETWEEN_COMMAS) ?? []) {
    const [range = '', ...parameters] = part.match(BETWEEN_SEMICOLONS) ?? []
    const name = range.trim().toLowerCase()
    weights.set(name, Math.max(weights.get(name) ?? 0, weightOf(parameters)))
  }
  return weights
}

/** Returns 1 if there is no weight, or none that is a number. */
function weightOf(parameters: readonly string[]): number {
  const [, text] =
    parameters.map((parameter) => parameter.split('=')).find(([name = '']) => /^\s*q\s*$/i.test(name)) ?? []
  const weight = Number(text ?? 1)
  return Number.isNaN(weight) ? 1 : Math.min(weight, 1)
}

/** Password hashing and reading files need the same four threads: so much keeps two cores busy for 0.2 s. */
const MAX_BYTES_AT_ONCE = 10 * 1024 * 1024
/** More than one for each thread, as a turn of the event loop makes several answers. */
const MAX_AT_ONCE = 32

const QUICK = { gzip: 5, br: 3 }
const BEST = { gzip: constants.Z_BEST_COMPRESSION, br: constants.BROTLI_MAX_QUALITY }

const inGzip = promisify(gzip)
const inBrotli = promisify(brotliCompress)

/**
 * Makes a function that compresses in threads, a limited number of answers at once; none waits for others to end. It returns undefined
 * where the answer has to be sent as it is.
 */
export function createCompression(isOverloaded: () => boolean) {
  let running = 0
  let bytes = 0

  return (content: Uint8Array, coding: Coding): Promise<Buffer> | undefined => {
    if (running >= MAX_AT_ONCE || bytes + content.length > MAX_BYTES_AT_ONCE || isOverloaded()) return undefined
    running++
    bytes += content.length
    return packed(content, coding, QUICK).finally(() => {
      running--
      bytes -= content.length
    })
  }
}

/** Compresses as well as possible, which takes a hundred times as long: for what is kept. */
export const compressWell = (content: Uint8Array, coding: Coding): Promise<Buffer> => packed(content, coding, BEST)

const packed = (content: Uint8Array, coding: Coding, levels: Readonly<Record<Coding, number>>): Promise<Buffer> => {
  if (coding === 'gzip') return inGzip(content, { level: levels.gzip })
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: levels.br,
    [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
    [constants.BROTLI_PARAM_SIZE_HINT]: content.length,
  }
  return inBrotli(content, { params })
}
