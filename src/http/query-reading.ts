import type { TObject } from '@sinclair/typebox'
import type { preValidationHookHandler } from 'fastify'
import { asciiLowerCase } from '#src/lib/ascii.ts'

/**
 * A hook that gives query parameters the spelling of the schema, whatever their letter case, and whole numbers their type. One
 * sent twice, in whatever spellings, becomes a list, which no schema takes.
 */
export function queryReading({ properties }: TObject): preValidationHookHandler {
  const spelling = new Map(Object.keys(properties).map((name) => [asciiLowerCase(name), name]))

  return (request, _reply, done) => {
    const read = new Map<string, unknown>()
    for (const [sent, value] of Object.entries(request.query as Record<string, unknown>)) {
      const name = spelling.get(asciiLowerCase(sent)) ?? sent
      const whole = properties[name]?.type === 'integer' && typeof value === 'string' && /^\d{1,9}$/.test(value)
      read.set(name, read.has(name) ? [read.get(name), value] : whole ? Number(value) : value)
    }
    request.query = Object.fromEntries(read)
    done()
  }
}
