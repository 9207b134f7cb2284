import { asciiLowerCase } from '#src/lib/ascii.ts'
import { readJson } from '#src/lib/json/read-json.ts'
import { createScanner, DEEPEST } from '#src/lib/json/scan.ts'
import { invalidRequest } from '#src/lib/request/invalid-request.ts'

export type FieldCase = 'any' | 'exact'

/**
 * Makes a reader of JSON bodies that renames contract fields to the contract's spelling. Refuses a field sent twice, in one
 * spelling or two: another reader might take the other value.
 */
export function contractBodyReader(fields: readonly string[], fieldCase: FieldCase): (bytes: unknown) => unknown {
  const anyCase = fieldCase === 'any'
  const scanner = createScanner(
    fields.map((field) => ({ pointer: `/${field}`, anyCase })),
    DEEPEST,
  )
  const spelling = new Map(fields.map((field) => [anyCase ? asciiLowerCase(field) : field, field]))

  return (bytes) => {
    const { value, scan } = readJson(bytes, scanner)
    const repeated = fields.filter((_, index) => scan.found.filter(({ pointer }) => pointer === index).length > 1)
    if (repeated.length > 0) {
      throw invalidRequest(repeated.map((field) => ({ path: `/${field}`, message: 'is sent more than once' })))
    }
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    const named = Object.entries(value).map(([key, inner]) => {
      return [spelling.get(anyCase ? asciiLowerCase(key) : key) ?? key, inner] as const
    })
    return Object.fromEntries(named)
  }
}
