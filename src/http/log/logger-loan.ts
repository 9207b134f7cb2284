import type { FastifyBaseLogger, FastifyInstance } from 'fastify'

const LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const

/**
 * Has the logger that Fastify makes when it is given none, and which does nothing, log with ours. Given ours, Fastify would make
 * a child of it for each request, see whether that has all methods, and listen for the end of the answer.
 */
export function lendLogger(app: FastifyInstance, logger: FastifyBaseLogger): void {
  for (const level of LEVELS) app.log[level] = logger[level].bind(logger)
}
