import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Config } from '#src/config/load-config.ts'
import { AppError } from '#src/lib/app-error.ts'
import type { Clock } from '#src/lib/clock.ts'
import { httpErrors } from '../http.errors.ts'
import { type BodyBudget, createBodyBudget } from './budget.ts'
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
  const budget = createBodyBudget(config, clock)
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
