import { isUtf8 } from 'node:buffer'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Config } from '#src/config/load-config.ts'
import { AppError } from '#src/lib/app-error.ts'
import { fromByteText, withoutMark } from '#src/lib/byte-text.ts'
import type { Clock } from '#src/lib/clock.ts'
import { DEEPEST, type Scan, type Scanner } from '#src/lib/json/scan.ts'
import { httpErrors } from '../http.errors.ts'
import { type BodyBudget, createBodyBudget } from './budget.ts'
import { notJson } from './form-data.ts'
import { type BodyReader, createBodyReader } from './reader.ts'

declare module 'fastify' {
  interface FastifyInstance {
    readonly bodyBudget: BodyBudget
  }
}

/** Most deliveries are far smaller; larger ones use another pool of the budget. */
const SMALL_BYTES = 16_384

const JSON_TYPE = /^(?:application\/(?:[a-z0-9!#$&^_.+-]+\+)?json|text\/json)$/i

/** Routes get each body as the bytes that were sent, whatever its Content-Type. */
export function installBodyReading(app: FastifyInstance, config: Config, clock: Clock): void {
  const budget = createBodyBudget(clock)
  app.decorate('bodyBudget', budget)
  app.decorateRequest('roomOwner', null)
  const poolFor = (announced: number) => (announced <= SMALL_BYTES ? budget.small : budget.large)
  readBodiesWith(app, createBodyReader({ limit: config.bodyLimitBytes, poolFor, countsWhole: false }))
}

/** Reads bodies in a scope whose callers are not authenticated before their bodies arrive. */
export function readBodiesOfStrangers(app: FastifyInstance, limit: number): void {
  const { strangers } = app.bodyBudget
  readBodiesWith(app, createBodyReader({ limit, poolFor: () => strangers, countsWhole: true }))
}

function readBodiesWith(app: FastifyInstance, reader: BodyReader): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', reader)
}

/** Refuses a Content-Type that is not JSON, before the body is read. */
export async function requireJsonType(request: FastifyRequest): Promise<void> {
  const essence = request.headers['content-type']?.split(';', 1)[0]?.trim() ?? ''
  if (!JSON_TYPE.test(essence)) throw new AppError(httpErrors.notJsonType)
}

/** Checks that bytes are JSON, without building a value. Skips a byte order mark. */
export function scanJson(bytes: unknown, scanner: Scanner): Scan {
  if (!Buffer.isBuffer(bytes) || bytes.length === 0) throw new AppError(httpErrors.bodyMissing)
  if (!isUtf8(bytes)) throw new AppError(httpErrors.bodyNotUtf8)
  const scan = scanner(withoutMark(bytes))
  const { text, depth, valid } = scan
  if (depth > DEEPEST) throw new AppError(httpErrors.bodyTooDeep)
  // The message of JSON.parse would quote the body, which may hold a password.
  if (!valid) throw notJson(text)
  if (mayNamePrototype(text)) refuseForbiddenKeys(parse(text))
  return scan
}

/** Escapes of the characters that `__proto__` and `constructor` consist of. */
const ESCAPED_LETTER = /\\u00[567]/

const mayNamePrototype = (json: string): boolean =>
  json.includes('__proto__') || json.includes('constructor') || (json.includes('\\u00') && ESCAPED_LETTER.test(json))

/** Checks that bytes are JSON, and parses them. */
export function readJson(bytes: unknown, scanner: Scanner): { readonly scan: Scan; readonly value: unknown } {
  const scan = scanJson(bytes, scanner)
  return { scan, value: parse(scan.text) }
}

const parse = (text: string): unknown => JSON.parse(fromByteText(text))

/** Recursion is safe: the depth was checked before. */
function refuseForbiddenKeys(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  for (const [key, inner] of Object.entries(value)) {
    const reachesPrototype =
      key === 'constructor' && typeof inner === 'object' && inner && Object.hasOwn(inner, 'prototype')
    if (key === '__proto__' || reachesPrototype) throw new AppError(httpErrors.forbiddenKey)
    refuseForbiddenKeys(inner)
  }
}
