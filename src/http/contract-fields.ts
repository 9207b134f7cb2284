import type { Problem } from '#src/lib/app-error.ts'
import { asciiLowerCase } from '#src/lib/ascii.ts'
import { type JsonBody, readJson } from './body-reading.ts'
import { invalidRequest } from './error-handler.ts'

export type FieldCase = 'any' | 'exact'

/**
 * Reads a body and gives its contract fields the contract's spelling; everything else stays as it is. A field sent twice,
 * in two spellings or in the same, is refused: whoever reads only the first would see another request than we do.
 */
export function readContractBody(bytes: unknown, fields: readonly string[], fieldCase: FieldCase): unknown {
  const { value, outline } = readJson(bytes)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const problems = repeatedFields(outline, fields, fieldCase)
  if (problems.length > 0) throw invalidRequest(problems)
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [fieldNamed(key, fields, fieldCase) ?? key, inner]),
  )
}

function fieldNamed(key: string, fields: readonly string[], fieldCase: FieldCase): string | undefined {
  if (fieldCase === 'exact') return fields.find((field) => field === key)
  const folded = asciiLowerCase(key)
  return fields.find((field) => asciiLowerCase(field) === folded)
}

function repeatedFields(outline: JsonBody['outline'], fields: readonly string[], fieldCase: FieldCase): Problem[] {
  const sent = outline.members.map(({ key }) => fieldNamed(JSON.parse(`"${key}"`), fields, fieldCase))
  return fields
    .filter((field) => sent.filter((name) => name === field).length > 1)
    .map((field) => ({ path: `/${field}`, message: 'is sent more than once' }))
}
