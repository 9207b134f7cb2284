import type { TObject } from '@sinclair/typebox'
import type { preValidationHookHandler } from 'fastify'
import type { Problem } from '#src/lib/app-error.ts'
import { invalidRequest } from '#src/lib/request/invalid-request.ts'
import { asciiLowerCase } from '#src/lib/text.ts'
import { readTime } from '#src/lib/time/read-time.ts'

/**
 * Makes a hook that renames query parameters to the schema's spelling and converts whole numbers, true and false. An empty parameter counts as
 * not sent. One sent twice becomes a list, which no schema accepts.
 */
export function queryReading({ properties }: TObject): preValidationHookHandler {
  const aliases = new Map(Object.keys(properties).map((name) => [asciiLowerCase(name), name]))

  return (request, _reply, done) => {
    const read = new Map<string, unknown[]>()
    for (const [sent, values] of Object.entries(request.query as Record<string, string | string[]>)) {
      const name = aliases.get(asciiLowerCase(sent)) ?? sent
      // `constructor` names something in every object.
      const property = Object.hasOwn(properties, name) ? properties[name] : undefined
      for (const value of [values].flat()) {
        if (value === '' && property !== undefined) continue
        read.set(name, [...(read.get(name) ?? []), converted(value, property?.type)])
      }
    }
    request.query = Object.fromEntries(
      Array.from(read, ([name, values]) => [name, values.length === 1 ? values[0] : values]),
    )
    done()
  }
}

function converted(text: string, type: unknown): unknown {
  if (type === 'integer' && /^\d{1,9}$/.test(text)) return Number(text)
  return type === 'boolean' && /^(?:true|false)$/.test(text) ? text === 'true' : text
}

/** Reads the parameters `from` and `to` as milliseconds since 1970. */
export function withPeriod<Query extends { readonly from?: string; readonly to?: string }>(query: Query) {
  const { from, to, ...others } = query
  const problems: Problem[] = []
  const timeOf = (name: string, text: string | undefined): number | undefined => {
    const time = text === undefined ? undefined : readTime(text)
    if (text !== undefined && time === undefined) {
      const message = 'must be a time with its zone, such as 2026-11-21T09:00:00Z, or a day'
      problems.push({ path: `query/${name}`, message })
    }
    return time
  }
  const period = { from: timeOf('from', from), to: timeOf('to', to) }
  if (problems.length > 0) throw invalidRequest(problems)
  return { ...others, ...period }
}
