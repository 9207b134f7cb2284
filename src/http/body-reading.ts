import { isUtf8 } from 'node:buffer'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AppError } from '#src/lib/app-error.ts'
import type { Scan } from '#src/lib/json-scan.ts'
import { httpErrors } from './http.errors.ts'

/** How many arrays and objects may lie inside one another. */
export const DEEPEST = 64
const JSON_TYPE = /^(?:application\/(?:[a-z0-9!#$&^_.+-]+\+)?json|text\/json)$/i

/** Bodies arrive as the bytes that were sent, whatever their Content-Type; a route says itself what it makes of them. */
export function installBodyReading(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
}

/** For routes that insist on JSON by name; runs before the body is read. */
export async function requireJsonType(request: FastifyRequest): Promise<void> {
  const essence = request.headers['content-type']?.split(';', 1)[0]?.trim() ?? ''
  if (!JSON_TYPE.test(essence)) throw new AppError(httpErrors.notJsonType)
}

export interface JsonBody {
  readonly value: unknown
  readonly text: string
  readonly scan: Scan
}

/** Reads bytes as JSON. Nothing is converted and nothing dropped, except a byte order mark. */
export function readJson(bytes: unknown, scanner: (text: string) => Scan): JsonBody {
  if (!Buffer.isBuffer(bytes) || bytes.length === 0) throw new AppError(httpErrors.bodyMissing)
  if (!isUtf8(bytes)) throw new AppError(httpErrors.bodyNotUtf8)
  const text = withoutMark(bytes.toString('utf8'))
  const scan = scanner(text)
  if (scan.depth > DEEPEST) throw new AppError(httpErrors.bodyTooDeep)
  const value = parse(text)
  if (text.includes('\\') || text.includes('__proto__') || text.includes('constructor')) refuseForbiddenKeys(value)
  return { value, text, scan }
}

const withoutMark = (text: string): string => (text.charCodeAt(0) === 0xfeff ? text.slice(1) : text)

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The parser's own words quote the body, which may hold a password.
    throw new AppError(httpErrors.bodyNotJson)
  }
}

/** Depth is bounded by then, so recursion is safe. */
function refuseForbiddenKeys(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  for (const [key, inner] of Object.entries(value)) {
    const reachesPrototype =
      key === 'constructor' && typeof inner === 'object' && inner && Object.hasOwn(inner, 'prototype')
    if (key === '__proto__' || reachesPrototype) throw new AppError(httpErrors.forbiddenKey)
    refuseForbiddenKeys(inner)
  }
}
