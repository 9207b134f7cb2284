import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '#src/lib/clock.ts'
import { counted, escaped } from '#src/lib/printable.ts'
import { whyUnverified } from '#src/webhook/verify.ts'
import type { Times } from '../output/times.ts'

interface ReceiveOptions {
  readonly secrets: readonly string[]
  /** The status of the answer to what is verified. */
  readonly answer: number
  readonly maxBytes: number
  readonly json: boolean
  readonly clock: Clock
  readonly times: Times
  out(text: string): void
}

interface Refusal {
  readonly status: number
  readonly reason: string
}

const MAX_SHOWN_CHARACTERS = 2000
const MAX_SHOWN_PATH = 200

export function createReceive({ secrets, answer, maxBytes, json, clock, times, out }: ReceiveOptions) {
  const counts = { verified: 0, refused: 0 }
  const judge = (request: IncomingMessage, body: Buffer): Refusal | undefined => {
    if (request.method !== 'POST')
      return { status: 405, reason: `wrong method: webhooks are POST, not ${request.method}` }
    if (body.length > maxBytes)
      return { status: 413, reason: `too large: more than ${maxBytes} bytes (TESLIM_BODY_LIMIT)` }
    const reason = whyUnverified({ headers: request.headers, body }, secrets, clock.now())
    return reason === undefined ? undefined : { status: 401, reason }
  }
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await readBody(request, maxBytes)
    const refusal = judge(request, body)
    counts[refusal === undefined ? 'verified' : 'refused']++
    const status = refusal?.status ?? answer
    const judged = { at: clock.now(), status, reason: refusal?.reason ?? null }
    out(json ? jsonOf(request, body, judged) : textOf(request, body, judged, times))
    if (!request.complete) response.setHeader('connection', 'close')
    response.writeHead(status).end()
  }
  return {
    receive: (request: IncomingMessage, response: ServerResponse): void => {
      // The other side has closed the connection.
      receive(request, response).catch(() => request.destroy())
    },
    counts: () => counts,
  }
}

/** Reads no more than shows that the body is too large. */
async function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    chunks.push(chunk)
    length += chunk.length
    if (length > maxBytes) break
  }
  return Buffer.concat(chunks)
}

interface Judged {
  readonly at: number
  readonly status: number
  /** Why it was refused; null if it is verified. */
  readonly reason: string | null
}

const jsonOf = ({ method, url, headers }: IncomingMessage, body: Buffer, { at, status, reason }: Judged): string =>
  JSON.stringify({
    At: new Date(at).toISOString(),
    Verified: reason === null,
    Reason: reason,
    Status: status,
    Method: method,
    Path: url,
    WebhookID: headers['webhook-id'] ?? null,
    Bytes: body.length,
    Body: body.toString(),
  })

/** Whatever was sent stands behind a bar: it must not look like a line of ours. */
function textOf(
  { method, url = '', headers }: IncomingMessage,
  body: Buffer,
  { at, status, reason }: Judged,
  times: Times,
): string {
  const text = escaped(body.toString('utf8', 0, MAX_SHOWN_CHARACTERS))
  const isCut = Math.max(text.length, body.length) > MAX_SHOWN_CHARACTERS
  const path = url.length > MAX_SHOWN_PATH ? `${url.slice(0, MAX_SHOWN_PATH)}...` : url
  const lines = [
    `${method} ${path}`,
    `webhook-id: ${headers['webhook-id'] ?? 'none'}`,
    ...(text === '' ? [] : text.slice(0, MAX_SHOWN_CHARACTERS).split(/\r?\n/)),
  ]
  return [
    `${times.text(at)} ${reason === null ? 'verified' : `refused, ${reason}`}; answered ${status}`,
    ...lines.map((line) => `  | ${line}`),
    ...(isCut ? [`  and more, of ${counted(body.length, 'byte')}`] : []),
  ].join('\n')
}
