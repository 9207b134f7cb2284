import { weightsOf } from '../accept.ts'

/** The content codings that answers can have, best first. */
export const CODINGS = ['br', 'gzip'] as const
export type Coding = (typeof CODINGS)[number]

export interface Preference {
  /** The coding to use; undefined to send the answer as it is. */
  readonly coding: Coding | undefined
  /** Whether the client refuses an answer without a coding. */
  readonly refusesPlain: boolean
}

/** Longer headers count as not sent: no client needs one, and anybody may send them. */
const LONGEST = 1000

const PLAIN: Preference = { coding: undefined, refusesPlain: false }

/**
 * Chooses a content coding by an `Accept-Encoding` header (RFC 9110, 12.5.3): the one with the highest weight, of equal ones the
 * smallest result. Codings that are not named are refused; plain answers only if the header says so.
 */
export function preferredCoding(acceptEncoding: string | undefined): Preference {
  if (acceptEncoding === undefined || acceptEncoding.length > LONGEST) return PLAIN
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
