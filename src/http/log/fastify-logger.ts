import type { FastifyBaseLogger, FastifyInstance } from 'fastify'

const LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const

/**
 * Makes Fastify's silent default logger write to ours. If Fastify were given ours, it would make and check a child logger for each
 * request, and listen for the end of each answer.
 */
export function connectLogger(app: FastifyInstance, logger: FastifyBaseLogger): void {
  for (const level of LEVELS) app.log[level] = logger[level].bind(logger)
}
