import type { IncomingMessage } from 'node:http'
import { systemClock } from '#src/lib/clock.ts'
import { newId } from '#src/lib/ids.ts'
import { systemRandom } from '#src/lib/random.ts'

const ACCEPTABLE = /^[\x21-\x7e]{1,128}$/

/** Returns the client's own id if it is 1 to 128 visible ASCII characters, else a new one. */
export function requestId(request: Pick<IncomingMessage, 'headers'>): string {
  const sent = request.headers['x-request-id']
  return typeof sent === 'string' && ACCEPTABLE.test(sent) ? sent : newId(systemClock.now(), systemRandom)
}
