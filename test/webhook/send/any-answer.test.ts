import { createServer, type Socket } from 'node:net'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { anyText } from '../../support/any-text.ts'
import { runs } from '../../support/random-runs.ts'
import { answerRaw, listen, sender, sending } from './receiver.ts'

/** Parts of answers, whole and broken, in any order. */
const part = fc.oneof(
  fc.constantFrom(
    'HTTP/1.1 200 OK\r\n',
    'HTTP/1.1 204 No Content\r\n',
    'HTTP/1.1 100 Continue\r\n',
    'HTTP/1.1 103 Early Hints\r\n',
    'HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: upgrade\r\n',
    'HTTP/1.0 500 X\r\n',
    'HTTP/1.1 410 Gone\r\n',
    'Content-Length: 2\r\n',
    'Content-Length: 0\r\n',
    'Content-Length: 99999999999999999999\r\n',
    'Transfer-Encoding: chunked\r\n',
    'Connection: close\r\n',
    'Connection: keep-alive\r\n',
    'Keep-Alive: timeout=1\r\n',
    'Keep-Alive: timeout=99999999999\r\n',
    'Retry-After: 1\r\n',
    'Trailer: x\r\n',
    '\r\n',
    '\r\n\r\n',
    'ok',
    '2\r\nok\r\n',
    '0\r\n\r\n',
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  ),
  anyText(),
)
const answers = fc.record({
  parts: fc.array(part, { maxLength: 8 }),
  end: fc.constantFrom('end', 'destroy', 'reset', 'keep'),
})

const finish = (socket: Socket, how: string): void => {
  if (how === 'end') socket.end()
  if (how === 'destroy') socket.destroy()
  if (how === 'reset') socket.resetAndDestroy()
}

it('whatever a server answers, an attempt has an outcome, and one that names a status or an error', async () => {
  let answer: { parts: string[]; end: string } = { parts: [], end: 'end' }
  const { port } = await answerRaw((socket) => {
    for (const bytes of answer.parts) socket.write(bytes)
    finish(socket, answer.end)
  })
  const client = sender({ timeoutMilliseconds: 25 })
  await fc.assert(
    fc.asyncProperty(fc.array(answers, { minLength: 1, maxLength: 4 }), async (several) => {
      for (const next of several) {
        answer = next
        const outcome = await client.send(sending(`http://127.0.0.1:${port}/`))
        const isSuccess = outcome.status !== null && outcome.status >= 200 && outcome.status <= 299
        expect(outcome.error === null).toBe(isSuccess)
        expect(outcome.gone).toBe(outcome.status === 410)
        expect(outcome.error).not.toBe('')
        expect(outcome.response ?? '').not.toMatch(/\p{Cc}/u)
      }
    }),
    { numRuns: runs(100) },
  )
})

it('whatever a server says instead of TLS, an attempt has an outcome', async () => {
  let answer = Buffer.alloc(0)
  const server = createServer((socket) => socket.on('data', () => socket.end(answer)))
  const { port } = await listen(server)
  const client = sender({ timeoutMilliseconds: 1000 })
  // Records of a handshake, of an alert and of neither.
  const record = fc
    .tuple(fc.constantFrom(22, 21, 20, 23, 0), fc.uint8Array({ maxLength: 60 }))
    .map(([type, bytes]) => Buffer.from([type, 3, 3, 0, bytes.length, ...bytes]))
  await fc.assert(
    fc.asyncProperty(fc.array(record, { maxLength: 3 }), async (records) => {
      answer = Buffer.concat(records)
      const { status, error } = await client.send(sending(`https://127.0.0.1:${port}/`))
      expect(status).toBeNull()
      expect(error).toMatch(/\w/)
    }),
    { numRuns: 150 },
  )
})
