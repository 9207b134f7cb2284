import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

const ACCEPTABLE = /^[\x21-\x7e]{1,128}$/

/** The client's own id if it is 1 to 128 visible ASCII characters, else a new one. */
export function requestId(request: Pick<IncomingMessage, 'headers'>): string {
  const sent = request.headers['x-request-id']
  return typeof sent === 'string' && ACCEPTABLE.test(sent) ? sent : randomUUID()
}
