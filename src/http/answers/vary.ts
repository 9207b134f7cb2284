import type { FastifyReply } from 'fastify'

/** Names a request header that the answer depends on. */
export function addVary(reply: FastifyReply, name: string): void {
  const others = reply.getHeader('vary')
  reply.header('vary', others === undefined ? name : `${others}, ${name}`)
}
