import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import { fetch } from '../support/app/checked-fetch.ts'
import { keyOfSupplier } from '../support/processes/ledger.ts'
import { runPrepared } from '../support/processes/prepared-commands.ts'
import { serve } from '../support/processes/process.ts'
import { tempFolder } from '../support/temp-folder.ts'

const env = { NODE_ENV: 'production', TESLIM_REQUEST_TIMEOUT: '1' }

/** Sends bytes as they are and reads until the server closes the connection. */
const exchange = (url: string, ...lines: string[]): Promise<string> => {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.write(lines.join('\r\n'))
  return text(socket)
}

const parse = (answer: string) => {
  const [head = '', body = ''] = answer.split('\r\n\r\n')
  return { status: Number(head.split(' ')[1]), head: head.toLowerCase(), body: JSON.parse(body) }
}

it('answers broken and hostile connections in the envelope and cuts them off', async () => {
  const where = { cwd: tempFolder(), env }
  await keyOfSupplier(where)
  const { url } = await serve(where)
  const login = 'POST /Login/Customer/Api/Verify HTTP/1.1'
  const cases: [string, number, string, string[]][] = [
    [
      'a strange expectation',
      400,
      'EXPECTATION_NOT_MET',
      ['GET /livez HTTP/1.1', 'Host: a', 'Expect: banana', 'Connection: close', '', ''],
    ],
    ['no HTTP', 400, 'BAD_REQUEST', ['hello', '', '']],
    ['two Hosts', 400, 'HOST_COUNT', ['GET /livez HTTP/1.1', 'Host: a', 'hOST: b', 'Connection: close', '', '']],
    ['no Host', 400, 'HOST_COUNT', ['GET /livez HTTP/1.1', 'Connection: close', '', '']],
    [
      'both lengths',
      400,
      'BAD_REQUEST',
      [login, 'Host: a', 'Content-Length: 5', 'Transfer-Encoding: chunked', '', '0', '', ''],
    ],
    ['two lengths', 400, 'BAD_REQUEST', [login, 'Host: a', 'Content-Length: 5', 'Content-Length: 6', '', 'hello!']],
    ['a bare line feed', 400, 'BAD_REQUEST', ['GET /livez HTTP/1.1\nHost: a\n\n']],
    ['a folded header', 400, 'BAD_REQUEST', ['GET /livez HTTP/1.1', 'Host: a', 'X-A: b', ' c', '', '']],
    ['a space before the colon', 400, 'BAD_REQUEST', ['GET /livez HTTP/1.1', 'Host: a', 'X-A : b', '', '']],
    [
      'long headers',
      431,
      'HEADERS_TOO_LARGE',
      ['GET /livez HTTP/1.1', 'Host: a', `X-A: ${'b'.repeat(17_000)}`, '', ''],
    ],
    ['a long address', 431, 'HEADERS_TOO_LARGE', [`GET /${'b'.repeat(17_000)} HTTP/1.1`, 'Host: a', '', '']],
    ['slow headers', 408, 'REQUEST_TIMEOUT', ['GET /livez HTTP/1.1', 'Host: a', '']],
    [
      'a slow body',
      408,
      'REQUEST_TIMEOUT',
      [login, 'Host: a', 'Content-Type: application/json', 'Content-Length: 9', '', '{'],
    ],
  ]
  const answers = cases.map(async ([name, status, errorCode, lines]) => {
    const answer = parse(await exchange(url, ...lines))
    expect({ name, status: answer.status, ...answer.body }).toEqual({
      name,
      status,
      data: null,
      success: false,
      message: expect.any(String),
      errorCode,
      requestId: expect.any(String),
    })
    expect(answer.head).toContain('connection: close')
    expect(answer.head).toContain(`x-request-id: ${answer.body.requestId}`)
    expect(answer.head).toContain('cache-control: no-store')
  })
  await Promise.all(answers)
  expect((await fetch(`${url}/livez`)).status).toBe(200)
})

it('a delivery that was answered 408 is not stored when its rest comes after all', async () => {
  const cwd = tempFolder()
  const key = await keyOfSupplier({ cwd, env })
  const server = await serve({ cwd, env })
  const body = '{"OrderID":"late","Status":1}'
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
  const head = ['POST /Purchase/update HTTP/1.1', 'Host: a', `ApiKey: ${key}`, `Content-Length: ${body.length}`]
  socket.write(`${head.join('\r\n')}\r\n\r\n${body.slice(0, 10)}`)
  const [answer] = await once(socket, 'data')
  expect(String(answer)).toContain('HTTP/1.1 408 ')
  socket.end(body.slice(10))
  await once(socket, 'close')
  server.child.kill('SIGTERM')
  expect(await server.ended).toBe(0)
  const { stdout } = await runPrepared(['delivery', 'list', '--json'], { cwd })
  expect(JSON.parse(stdout)).toEqual([])
})
