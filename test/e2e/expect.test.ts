import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { parseAnswers } from '../support/app/raw-http.ts'
import { keyOfSupplier } from '../support/processes/ledger.ts'
import { serve } from '../support/processes/process.ts'
import { tempFolder } from '../support/temp-folder.ts'

const cwd = tempFolder()
const ALMOST_A_MEGABYTE = 900_000
const key = await keyOfSupplier({ cwd })
const server = await serve({ cwd })

const open = (): Socket => connect({ port: Number(new URL(server.url).port), allowHalfOpen: true })

/** Everything until the server ends its side; rejects on a reset. */
function everythingFrom(socket: Socket): Promise<string> {
  let bytes = ''
  socket.on('data', (chunk) => {
    bytes += chunk
  })
  return new Promise((resolve, reject) => socket.on('end', () => resolve(bytes)).on('error', reject))
}

const head = (line: string, length: number, ...headers: string[]): string =>
  [line, 'Host: a', 'Expect: 100-continue', `Content-Length: ${length}`, ...headers, '', ''].join('\r\n')

const DELIVERY = 'POST /Purchase/update HTTP/1.1'
const LOGIN = 'POST /Login/Customer/Api/Verify HTTP/1.1'

const orders = (): unknown[] => {
  const database = new DatabaseSync(join(cwd, 'data/teslim.db'), { readOnly: true })
  const rows = database.prepare('SELECT order_id FROM delivery ORDER BY position').all()
  database.close()
  return rows.map((row) => row.order_id)
}

describe('Expect: 100-continue', () => {
  it.each([
    ['no ApiKey', 401, 'API_KEY_MISSING', DELIVERY, ALMOST_A_MEGABYTE, []],
    ['a wrong ApiKey', 401, 'API_KEY_INVALID', DELIVERY, ALMOST_A_MEGABYTE, ['ApiKey: x']],
    ['a body beyond the limit', 413, 'BODY_TOO_LARGE', DELIVERY, 2_000_000, ['ApiKey: KEY']],
    ['a login of another type', 415, 'UNSUPPORTED_MEDIA_TYPE', LOGIN, 20, ['Content-Type: text/plain']],
    ['an Authorization header', 400, 'AUTHORIZATION_NOT_ALLOWED', LOGIN, 20, ['Authorization: Bearer x']],
    ['an encoded body', 415, 'UNSUPPORTED_CONTENT_ENCODING', DELIVERY, 20, ['Content-Encoding: gzip']],
    ['another address', 404, 'NOT_FOUND', 'POST /nowhere HTTP/1.1', ALMOST_A_MEGABYTE, []],
    ['another method', 405, 'METHOD_NOT_ALLOWED', 'POST /livez HTTP/1.1', ALMOST_A_MEGABYTE, []],
  ])('with %s gets the refusal alone, and the connection ends', async (_, status, errorCode, line, length, headers) => {
    const socket = open()
    const answers = everythingFrom(socket)
    socket.write(head(line, length, ...headers.map((header) => header.replace('KEY', key))))
    expect(parseAnswers(await answers)).toMatchObject([
      { status, head: expect.stringContaining('connection: close'), body: { errorCode } },
    ])
    socket.end()
  })

  it('with a good key is told to go on, then answered, and the connection is kept', async () => {
    const socket = open()
    const answers = everythingFrom(socket)
    for (const order of ['first', 'second']) {
      const body = `{"OrderID":"${order}","Status":1}`
      socket.write(head(DELIVERY, body.length, `ApiKey: ${key}`))
      const [answer] = await once(socket, 'data')
      expect(String(answer)).toBe('HTTP/1.1 100 Continue\r\n\r\n')
      socket.write(body)
      await once(socket, 'data')
    }
    socket.end()
    expect(parseAnswers(await answers).map(({ status }) => status)).toEqual([100, 200, 100, 200])
    expect(orders()).toEqual(['first', 'second'])
  })

  it('from a client that sends its body without waiting: it can read the refusal, and what follows is not worked on', async () => {
    const before = orders()
    const socket = open()
    const answers = everythingFrom(socket)
    socket.write(head(DELIVERY, ALMOST_A_MEGABYTE))
    socket.write('x'.repeat(ALMOST_A_MEGABYTE))
    expect(parseAnswers(await answers)).toMatchObject([{ status: 401 }])
    const body = '{"OrderID":"later","Status":1}'
    const headers = ['Host: a', `ApiKey: ${key}`, 'X-Request-Id: later', `Content-Length: ${body.length}`]
    socket.write([DELIVERY, ...headers, '', body].join('\r\n'))
    await server.printed(/"requestId":"later".*"aborted":true/)
    socket.destroy()
    expect(orders()).toEqual(before)
  })
})
