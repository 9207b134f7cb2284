import type { FastifyInstance } from 'fastify'

/** Writes a JSON answer where no hook runs. */
export const jsonLine = (value: unknown): string => `${JSON.stringify(value)}\n`

/** Ends every JSON answer with a newline, so that the shell's prompt starts on a new line. Buffers are sent unchanged. */
export function installNewline(app: FastifyInstance): void {
  app.addHook('onSend', (_request, reply, payload, done) => {
    const isJson = typeof payload === 'string' && String(reply.getHeader('content-type')).startsWith('application/json')
    done(null, isJson ? `${payload}\n` : payload)
  })
}
