import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { failure } from '../support/app/failure.ts'
import { exchange, parseAnswers } from '../support/app/raw-http.ts'
import { keyOfSupplier } from '../support/processes/ledger.ts'
import { serve } from '../support/processes/process.ts'
import { tempFolder } from '../support/temp-folder.ts'

const HEAD = 'POST /Login/Customer/Api/Verify HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n'
/** What an attacker would have executed in the name of whoever comes next. */
const NEXT = 'GET /livez HTTP/1.1\r\nHost: a\r\nX-Request-Id: smuggled\r\nConnection: close\r\n\r\n'
const CHUNKED = 'Transfer-Encoding: chunked\r\n\r\n'

// Node is told to be lenient, which the server must not be.
const node = ['--insecure-http-parser', '--max-http-header-size=65536']
const env = { NODE_ENV: 'production', TESLIM_REQUEST_TIMEOUT: '2' }
const cwd = tempFolder()
await keyOfSupplier({ cwd })
const { url } = await serve({ cwd, env, node })

const answersTo = async (bytes: string) => parseAnswers(await exchange(url, bytes))

describe('a request that could be read in two ways gets one refusal, and its connection ends', () => {
  it.each([
    ['both lengths', 'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['both lengths, the other way round', 'Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n'],
    ['two lengths', 'Content-Length: 2\r\nContent-Length: 6\r\n\r\n{}'],
    ['the same length twice', 'Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}'],
    ['a list of lengths', 'Content-Length: 2, 2\r\n\r\n{}'],
    ['a negative length', 'Content-Length: -2\r\n\r\n{}'],
    ['a length with a plus', 'Content-Length: +2\r\n\r\n{}'],
    ['a length in hexadecimal', 'Content-Length: 0x2\r\n\r\n{}'],
    ['a length with a fraction', 'Content-Length: 2.0\r\n\r\n{}'],
    ['a length in two parts', 'Content-Length: 2 2\r\n\r\n{}'],
    ['an empty length', 'Content-Length:\r\n\r\n{}'],
    ['a length beyond 64 bits', 'Content-Length: 18446744073709551618\r\n\r\n{}'],
    ['a space before the colon of a length', 'Content-Length : 2\r\n\r\n{}'],
    ['chunked twice', `Transfer-Encoding: chunked\r\n${CHUNKED}2\r\n{}\r\n0\r\n\r\n`],
    ['chunked twice in one', 'Transfer-Encoding: chunked, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n'],
    ['gzip before chunked', 'Transfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n'],
    ['gzip after chunked', 'Transfer-Encoding: chunked, gzip\r\n\r\n2\r\n{}\r\n0\r\n\r\n'],
    ['an unknown coding', 'Transfer-Encoding: xchunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n'],
    ['identity', 'Transfer-Encoding: identity\r\n\r\n{}'],
    ['chunked in quotes', 'Transfer-Encoding: "chunked"\r\n\r\n2\r\n{}\r\n0\r\n\r\n'],
    ['a space before the colon of chunked', 'Transfer-Encoding : chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n'],
    ['a vertical tab before chunked', 'Transfer-Encoding:\x0bchunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n'],
    ['a folded coding', 'Transfer-Encoding:\r\n chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n'],
    ['a folded header', 'X-A: b\r\n c\r\nContent-Length: 2\r\n\r\n{}'],
    ['a bare line feed after a header', 'Content-Length: 2\n\r\n{}'],
    ['a bare line feed as the end of the headers', 'Content-Length: 2\r\n\n{}'],
    ['a bare carriage return', 'X-A: b\rContent-Length: 2\r\n\r\n{}'],
    ['NUL in a header', 'X-A: b\0c\r\nContent-Length: 2\r\n\r\n{}'],
    ['NUL in the name of a header', 'X\0A: b\r\nContent-Length: 2\r\n\r\n{}'],
    ['a header without a colon', 'Nothing\r\nContent-Length: 2\r\n\r\n{}'],
    ['a header without a name', ': x\r\nContent-Length: 2\r\n\r\n{}'],
    ['junk after the size of a chunk', `${CHUNKED}2 x\r\n{}\r\n0\r\n\r\n`],
    ['a line feed in the extension of a chunk', `${CHUNKED}2;a\nb\r\n{}\r\n0\r\n\r\n`],
    ['NUL in the extension of a chunk', `${CHUNKED}2;\0\r\n{}\r\n0\r\n\r\n`],
    ['an endless extension of a chunk', `${CHUNKED}2;${'x'.repeat(20_000)}\r\n{}\r\n0\r\n\r\n`],
    ['a chunk size with 0x', `${CHUNKED}0x2\r\n{}\r\n0\r\n\r\n`],
    ['a negative chunk size', `${CHUNKED}-2\r\n{}\r\n0\r\n\r\n`],
    ['a chunk size beyond 64 bits', `${CHUNKED}10000000000000002\r\n{}\r\n0\r\n\r\n`],
    ['an empty chunk size', `${CHUNKED}\r\n{}\r\n0\r\n\r\n`],
    ['a bare line feed after a chunk size', `${CHUNKED}2\n{}\r\n0\r\n\r\n`],
    ['a chunk that is longer than it says', `${CHUNKED}2\r\n{}xx0\r\n\r\n`],
    ['a length among the trailers', `${CHUNKED}2\r\n{}\r\n0\r\nContent-Length: 50\r\n\r\n`],
    ['a coding among the trailers', `${CHUNKED}2\r\n{}\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n`],
  ])('%s', async (_name, rest) => {
    const answers = await answersTo(HEAD + rest + NEXT)
    expect(answers).toEqual([{ status: 400, head: expect.any(String), body: failure(expect.any(String)) }])
    expect(answers[0]?.head).toContain('connection: close')
    expect(answers[0]?.head).toContain("content-security-policy: default-src 'none'")
  })

  it.each([
    ['HTTP/0.9', 'GET /livez\r\n\r\n', 'HTTP_VERSION_NOT_SUPPORTED'],
    ['HTTP/2.0', 'GET /livez HTTP/2.0\r\nHost: a\r\n\r\n', 'HTTP_VERSION_NOT_SUPPORTED'],
    ['HTTP/1.2', 'GET /livez HTTP/1.2\r\nHost: a\r\n\r\n', 'BAD_REQUEST'],
    ['chunked in HTTP/1.0', `${HEAD.replace('1.1', '1.0')}${CHUNKED}0\r\n\r\n`, 'UNSUPPORTED_TRANSFER_ENCODING'],
    ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'BAD_REQUEST'],
    ['a Host that is none', 'GET /livez HTTP/1.1\r\nHost: a/b@c\r\n\r\n', 'HOST_MALFORMED'],
    ['two Hosts in one', 'GET /livez HTTP/1.1\r\nHost: a, b\r\n\r\n', 'HOST_MALFORMED'],
    ['an unknown method', 'FOO /livez HTTP/1.1\r\nHost: a\r\n\r\n', 'BAD_REQUEST'],
    ['a method in lower case', 'get /livez HTTP/1.1\r\nHost: a\r\n\r\n', 'BAD_REQUEST'],
    ['a space in the address', 'GET /li vez HTTP/1.1\r\nHost: a\r\n\r\n', 'BAD_REQUEST'],
    ['an address that cannot be decoded', 'GET /%c0%af HTTP/1.1\r\nHost: a\r\n\r\n', 'BAD_REQUEST'],
    ['TLS where there is none', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 'BAD_REQUEST'],
  ])('%s', async (_name, bytes, errorCode) => {
    expect(await answersTo(bytes + NEXT)).toMatchObject([{ status: 400, body: { errorCode } }])
  })
})

describe('a request with one meaning gets one answer, and so does the next', () => {
  it.each([
    ['chunked in capitals', `${HEAD}Transfer-Encoding: CHUNKED\r\n\r\n2\r\n{}\r\n0\r\n\r\n`, 'INVALID_REQUEST'],
    ['the extension of a chunk', `${HEAD}${CHUNKED}2;a=b\r\n{}\r\n0\r\n\r\n`, 'INVALID_REQUEST'],
    ['a length with spaces around', `${HEAD}Content-Length:  2  \r\n\r\n{}`, 'INVALID_REQUEST'],
    [
      'a header that only looks like the coding',
      `${HEAD}Transfer_Encoding: chunked\r\nContent-Length: 2\r\n\r\n{}`,
      'INVALID_REQUEST',
    ],
    ['no length', `${HEAD}\r\n`, 'BODY_MISSING'],
    ['a GET with a body', 'GET /livez HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n0123456789', undefined],
    ['the whole address with another host', 'GET http://other/livez HTTP/1.1\r\nHost: a\r\n\r\n', undefined],
  ])('%s', async (_name, bytes, errorCode) => {
    const [first, second, ...more] = await answersTo(bytes + NEXT)
    expect([first?.body.errorCode, more]).toEqual([errorCode, []])
    expect(second?.head).toContain('x-request-id: smuggled')
  })

  it.each([
    ['two slashes', '//livez', 200],
    ['many slashes', '/////livez/?x=//y', 200],
    ['the whole address with two slashes', 'http://other//livez', 200],
    ['two slashes and what looks like a host', '//other/livez', 404],
    ['two slashes further on', '/Purchase//list', 404],
    ['two slashes before what needs a token', '//Purchase/list', 401],
    ['two slashes before an order id', '/Purchase/detail//PO-1', 404],
    ['two slashes alone', '//', 200],
  ])('an address with %s', async (_name, address, status) => {
    const answers = await answersTo(`GET ${address} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)
    expect(answers).toMatchObject([{ status }])
  })

  it('an address with two slashes is a 405 like any other under another method', async () => {
    const answers = await answersTo('GET //Purchase/update HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
    expect(answers).toMatchObject([{ status: 405, head: expect.stringContaining('allow: post') }])
  })

  it('a request inside the body of another is no request', async () => {
    const bytes = `GET /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: ${NEXT.length}\r\n\r\n${NEXT}`
    const answers = await answersTo(bytes)
    expect(answers).toMatchObject([{ status: 200 }])
    expect(answers[0]?.head).not.toContain('smuggled')
  })

  it.each([
    ['websocket', 'Upgrade: websocket\r\nConnection: Upgrade\r\n'],
    ['h2c', 'Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\nConnection: Upgrade, HTTP2-Settings\r\n'],
  ])('an upgrade to %s is answered as if it were not asked for, and the connection ends', async (_name, headers) => {
    const answers = await answersTo(`GET /livez HTTP/1.1\r\nHost: a\r\n${headers}\r\n${NEXT}`)
    expect(answers).toMatchObject([{ status: 200 }])
    expect(answers[0]?.head).toContain('connection: close')
  })

  it.each(['CONNECT other:443', 'CONNECT /livez', 'TRACE /livez', 'PROPFIND /livez'])('%s is a 405', async (line) => {
    const answers = await answersTo(`${line} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)
    expect(answers).toMatchObject([{ status: 405, body: failure('METHOD_NOT_ALLOWED') }])
    expect(answers[0]?.head).toMatch(/^allow: /m)
  })

  it('Expect: 100-continue is told to go on', async () => {
    const answers = await answersTo(`${HEAD}Expect: 100-continue\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}`)
    expect(answers.map(({ status }) => status)).toEqual([100, 400])
  })
})

describe('limits', () => {
  const get = (path: string, headers = '') =>
    answersTo(`GET ${path} HTTP/1.1\r\nHost: a\r\n${headers}Connection: close\r\n\r\n`)

  it('no header is dropped without a word: there may be hundreds, a thousand are a 431', async () => {
    expect(await get('/livez', `${'a: b\r\n'.repeat(900)}Content-Encoding: gzip\r\n`)).toMatchObject([{ status: 415 }])
    expect(await get('/livez', 'a:\r\n'.repeat(1000))).toMatchObject([
      { status: 431, body: failure('HEADERS_TOO_LARGE') },
    ])
  })

  it('an address may be 15 KiB long, and hold thousands of parameters', async () => {
    expect(await get(`/livez?${'a&'.repeat(7000)}__proto__=1&%&%ff=%`)).toMatchObject([{ status: 200 }])
    expect(await get(`/${'a'.repeat(15_000)}`)).toMatchObject([{ status: 404 }])
    expect(await get(`/${'a'.repeat(17_000)}`)).toMatchObject([{ status: 431, body: failure('HEADERS_TOO_LARGE') }])
  })

  it('a body beyond the limit is refused by its length alone', async () => {
    const answers = await answersTo(`${HEAD}Content-Length: 99999999999\r\n\r\n{}`)
    expect(answers).toMatchObject([{ status: 413, body: failure('BODY_TOO_LARGE') }])
  })
})

describe('a connection that breaks', () => {
  it('after a request was refused early gives that one no second answer', async () => {
    const answers = await answersTo(
      'POST /Purchase/update HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{"Status":',
    )
    expect(answers).toMatchObject([{ status: 401, body: failure('API_KEY_MISSING') }])
  })

  it('behind requests still at work lets them be answered first', async () => {
    const body = '{"Email":"a@b.co","Password":"wrong one"}'
    const login = `${HEAD}Content-Length: ${body.length}\r\n\r\n${body}`
    const answers = await answersTo(`${login}${login}no request\r\n\r\n`)
    expect(answers.map((answer) => answer.body.errorCode)).toEqual(['LOGIN_REFUSED', 'LOGIN_REFUSED', 'BAD_REQUEST'])
  })

  it('goes on breaking, and gets one answer all the same', async () => {
    const body = '{"Email":"a@b.co","Password":"wrong one"}'
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    const all = text(socket)
    socket.write(`${HEAD}Content-Length: ${body.length}\r\n\r\n${body}`)
    for (let times = 0; times < 30; times++) {
      socket.write('no request\r\n\r\n')
      await new Promise(setImmediate)
    }
    const codes = parseAnswers(await all).map((answer) => answer.body.errorCode)
    expect(codes).toEqual(['LOGIN_REFUSED', 'BAD_REQUEST'])
  })

  it('is given up by the server even when the client keeps its side open', async () => {
    const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', allowHalfOpen: true })
    const closed = new Promise((resolve) => socket.on('error', resolve))
    socket.resume().write('no request\r\n\r\n')
    const writing = setInterval(() => socket.write('x'), 50)
    expect(await closed).toMatchObject({ code: expect.stringMatching(/EPIPE|ECONNRESET/) })
    clearInterval(writing)
  })
})
