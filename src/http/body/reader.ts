import type { IncomingMessage } from 'node:http'
import type { Static, TObject, TSchema } from '@sinclair/typebox'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Config } from '#src/config/load-config.ts'
import { AppError, type ErrorDefinition } from '#src/lib/app-error.ts'
import type { Clock } from '#src/lib/clock.ts'
import { createScanner, MAX_DEPTH, readJson } from '#src/lib/json/scan.ts'
import { message } from '#src/lib/messages/message.ts'
import { invalidRequest } from '#src/lib/request/invalid-request.ts'
import { asciiLowerCase } from '#src/lib/text.ts'
import { lingerAtEnd } from '../connections/node-internals.ts'
import { httpErrors } from '../http.errors.ts'
import { mustBe } from '../validation.ts'
import { type BodyBudget, type BodyPool, budgetOwner, createBodyBudget } from './budget.ts'

declare module 'fastify' {
  interface FastifyInstance {
    readonly bodyBudget: BodyBudget
  }
}

/** Most deliveries are far smaller; larger ones use another pool of the budget. */
const SMALL_BYTES = 16_384

/** Routes get each body as the bytes that were sent, whatever its Content-Type. */
export function installBodyReading(app: FastifyInstance, config: Config, clock: Clock): void {
  const budget = createBodyBudget(clock)
  app.decorate('bodyBudget', budget)
  app.decorateRequest('budgetOwner', null)
  const poolFor = (announced: number) => (announced <= SMALL_BYTES ? budget.small : budget.large)
  readBodies(app, { limit: config.bodyLimitBytes, poolFor, countsWhole: false })
}

/** Reads bodies in a scope whose callers are not authenticated before their bodies arrive. */
export function readUnauthenticatedBodies(app: FastifyInstance, limit: number): void {
  const { unauthenticated } = app.bodyBudget
  readBodies(app, { limit, poolFor: () => unauthenticated, countsWhole: true })
}

function readBodies(app: FastifyInstance, options: BodyReaderOptions): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', createBodyReader(options))
}

interface BodyReaderOptions {
  /** Largest body, in bytes. */
  readonly limit: number
  /** Chooses the pool by the Content-Length; NaN if there is none. */
  readonly poolFor: (announced: number) => BodyPool
  /** Whether to count a body that arrives in one piece too, although it is held no longer than the rest of its request. */
  readonly countsWhole: boolean
}

/** Block sizes grow with the body between these limits. */
const MIN_BLOCK_BYTES = 1024
const MAX_BLOCK_BYTES = 65_536

/** Reads a body. Most arrive in one piece, for which only the length is compared. */
function createBodyReader({ limit, poolFor, countsWhole }: BodyReaderOptions) {
  return (request: FastifyRequest, payload: IncomingMessage, done: (error: Error | null, body?: Buffer) => void) => {
    const announced = Number(request.headers['content-length'])
    let received = 0
    /** All but the last one are full. Pieces are copied: each costs hundreds of bytes on top, and some hold a single byte. */
    let blocks: Buffer[] = []
    let free = 0
    let finished = false

    const finish = (error: Error | null, body?: Buffer): void => {
      if (finished) return
      finished = true
      done(error, body)
    }
    /** Frees copies at once: in a flood they would take much more memory than the budget until the next garbage collection. A body in one piece is no copy. */
    const freeBlocks = (): void => {
      if (request.bodyReservation) for (const { buffer } of blocks) (buffer as ArrayBuffer).transfer(0)
      blocks = []
    }
    const refuse = (definition: ErrorDefinition): void => {
      request.bodyReservation?.release()
      freeBlocks()
      lingerAtEnd(payload.socket)
      // Drops the rest of the body.
      payload.removeListener('data', onData).resume()
      finish(new AppError(definition))
    }
    const append = (piece: Buffer): void => {
      const last = blocks.at(-1)
      const fitting = last === undefined ? 0 : piece.copy(last, last.length - free)
      free -= fitting
      const rest = piece.length - fitting
      if (rest === 0) return
      const growing = Math.min(Math.max(received, MIN_BLOCK_BYTES), MAX_BLOCK_BYTES)
      const left = Number.isNaN(announced) ? limit : announced - received + rest
      const size = Math.max(rest, Math.min(growing, left))
      request.bodyReservation ??= poolFor(announced).reserve(budgetOwner(request), () =>
        refuse(httpErrors.bodiesOverloaded),
      )
      if (!request.bodyReservation.extend(size)) {
        refuse(httpErrors.bodiesOverloaded)
        return
      }
      const block = Buffer.allocUnsafeSlow(size)
      piece.copy(block, 0, fitting)
      free = size - rest
      blocks.push(block)
    }
    const onData = (piece: Buffer): void => {
      received += piece.length
      if (received > limit) refuse(httpErrors.bodyTooLarge)
      else if (piece.length === announced && !countsWhole) blocks = [piece]
      else append(piece)
    }
    const onEnd = (): void => {
      // The request was answered 408 meanwhile, so it must not be carried out.
      if (payload.socket.writableEnded) {
        payload.destroy()
        return
      }
      request.bodyReservation?.complete()
      if (received !== announced && !Number.isNaN(announced)) finish(new AppError(httpErrors.badRequest))
      // Copies into pooled memory: a piece has memory of its own, which costs V8 more the longer it is held.
      else {
        const body = Buffer.concat(blocks, received)
        freeBlocks()
        finish(null, body)
      }
    }
    // The client disconnected.
    const onError = (error: Error): void => finish(Object.assign(error, { statusCode: 400 }))

    if (announced > limit) {
      lingerAtEnd(payload.socket)
      done(new AppError(httpErrors.bodyTooLarge))
      return
    }
    payload.on('data', onData)
    payload.on('end', onEnd)
    payload.on('error', onError)
  }
}

const JSON_TYPE = /^(?:application\/(?:[a-z0-9!#$&^_.+-]+\+)?json|text\/json)$/i

/** Refuses a Content-Type that is not JSON, before the body is read. */
export async function requireJsonType(request: FastifyRequest): Promise<void> {
  const essence = request.headers['content-type']?.split(';', 1)[0]?.trim() ?? ''
  if (!JSON_TYPE.test(essence)) throw new AppError(httpErrors.notJsonType)
}

/**
 * Makes a reader of JSON bodies that renames contract fields to the contract's spelling. Refuses a field sent twice, in one
 * spelling or two: another reader might take the other value.
 */
export function contractBodyReader(fields: readonly string[], fieldCase: 'any' | 'exact'): (bytes: unknown) => unknown {
  const anyCase = fieldCase === 'any'
  const scanner = createScanner(
    fields.map((field) => ({ pointer: `/${field}`, anyCase })),
    MAX_DEPTH,
  )
  const aliases = new Map(fields.map((field) => [anyCase ? asciiLowerCase(field) : field, field]))

  return (bytes) => {
    const { value, scan } = readJson(bytes, scanner)
    const repeated = fields.filter((_, index) => scan.found.filter(({ pointer }) => pointer === index).length > 1)
    if (repeated.length > 0) {
      throw invalidRequest(repeated.map((field) => ({ path: `/${field}`, message: message('SENT_TWICE') })))
    }
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    const named = Object.entries(value).map(([key, inner]) => {
      return [aliases.get(anyCase ? asciiLowerCase(key) : key) ?? key, inner] as const
    })
    return Object.fromEntries(named)
  }
}

/**
 * Makes the hooks of a route that takes a JSON object, before it is validated. Its fields have the exact spelling of the schema, whose
 * default stands for a body that is missing.
 */
export function readingBody<Schema extends TObject>({ properties, default: fallback }: Schema) {
  const read = contractBodyReader(Object.keys(properties), 'exact')
  const lists = Object.entries(properties).flatMap(([name, schema]) => {
    const max = itemLimit(schema)
    return max === undefined ? [] : [{ name, max, message: mustBe(schema) }]
  })
  return {
    onRequest: async (request: FastifyRequest) => {
      if (fallback === undefined) await requireJsonType(request)
    },
    preValidation: async (request: FastifyRequest<{ Body: Static<Schema> }>) => {
      if (fallback !== undefined) {
        if (!(request.body as Buffer | undefined)?.length) {
          request.body = fallback as Static<Schema>
          return
        }
        await requireJsonType(request)
      }
      const body = read(request.body) as Static<Schema>
      // The validator would describe each item of a long list before it says that there are too many.
      for (const { name, max, message } of lists) {
        const value: unknown = (body as Readonly<Record<string, unknown>> | null)?.[name]
        if (Array.isArray(value) && value.length > max) throw invalidRequest([{ path: `/${name}`, message }])
      }
      request.body = body
    },
  }
}

/** How many items a list may have; undefined for a schema that takes no list. */
const itemLimit = ({ maxItems, anyOf = [] }: TSchema): number | undefined =>
  maxItems ?? anyOf.map(itemLimit).find((max: number | undefined) => max !== undefined)
