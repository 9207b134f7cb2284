import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { atTheEnd } from '../at-the-end.ts'

export interface ReceivedSpan {
  readonly traceId: string
  readonly spanId: string
  /** Empty for the first span of a trace. */
  readonly parentId: string
  readonly name: string
  /** 2 is a server's. */
  readonly kind: number
  readonly failed: boolean
  readonly attributes: Readonly<Record<string, string | number>>
  readonly resource: Readonly<Record<string, string | number>>
}

type Field = Buffer | number

/** The fields of a Protocol Buffers message, by number; those of 64 bits as zero, as no test needs them. */
function fieldsOf(message: Buffer): Map<number, Field[]> {
  const fields = new Map<number, Field[]>()
  let at = 0
  const varint = (): number => {
    let value = 0
    for (let factor = 1; ; factor *= 128) {
      const byte = message[at++] ?? 0
      value += (byte & 127) * factor
      if (byte < 128) return value
    }
  }
  while (at < message.length) {
    const tag = varint()
    const [number, type] = [Math.floor(tag / 8), tag % 8]
    let field: Field = 0
    if (type === 0) field = varint()
    else if (type === 2) {
      const length = varint()
      field = message.subarray(at, at + length)
      at += length
    } else at += type === 1 ? 8 : 4
    fields.set(number, [...(fields.get(number) ?? []), field])
  }
  return fields
}

const messages = (fields: Map<number, Field[]>, number: number): Map<number, Field[]>[] =>
  (fields.get(number) ?? []).map((field) => fieldsOf(field as Buffer))
const bytes = (fields: Map<number, Field[]>, number: number): Buffer =>
  (fields.get(number)?.[0] as Buffer) ?? Buffer.of()

function attributesOf(fields: Map<number, Field[]>, number: number): Record<string, string | number> {
  const pairs = messages(fields, number).map((pair): [string, string | number] => {
    const [[value = 0] = []] = [...fieldsOf(bytes(pair, 2)).values()]
    return [bytes(pair, 1).toString(), Buffer.isBuffer(value) ? value.toString() : value]
  })
  return Object.fromEntries(pairs)
}

function spansIn(request: Buffer): ReceivedSpan[] {
  return messages(fieldsOf(request), 1).flatMap((ofResource) => {
    const resource = messages(ofResource, 1).map((fields) => attributesOf(fields, 1))[0] ?? {}
    return messages(ofResource, 2)
      .flatMap((scope) => messages(scope, 2))
      .map((span) => ({
        traceId: bytes(span, 1).toString('hex'),
        spanId: bytes(span, 2).toString('hex'),
        parentId: bytes(span, 4).toString('hex'),
        name: bytes(span, 5).toString(),
        kind: Number(span.get(6)?.[0]),
        attributes: attributesOf(span, 9),
        failed: messages(span, 15).some((status) => status.get(3)?.[0] === 2),
        resource,
      }))
  })
}

/** Receives traces as an OpenTelemetry collector does, over HTTP in Protocol Buffers. */
export async function startCollector() {
  const spans: ReceivedSpan[] = []
  const requests: string[] = []
  const state: { answers: boolean; status: number } = { answers: true, status: 200 }
  const server = createServer(async (request, response) => {
    requests.push(`${request.method} ${request.url} ${request.headers['content-type']}`)
    const body = await buffer(request)
    if (!state.answers) return
    if (state.status === 200) spans.push(...spansIn(body))
    response.writeHead(state.status).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  atTheEnd(() => {
    server.close()
    server.closeAllConnections()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, spans, requests, state }
}
