import { createServer, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { makeCertificate } from '../../support/network/certificate.ts'
import { until } from '../../support/until.ts'
import { answerRaw, listen, receive, sender, sending } from './receiver.ts'

const CUT = 'the connection was closed before the answer was complete'

/** What one attempt makes of these bytes, after which the server closes the connection. */
async function outcomeOf(...parts: (string | Buffer)[]) {
  const { port } = await answerRaw((socket) => {
    for (const part of parts) socket.write(part)
    socket.end()
  })
  return sender({ timeoutMilliseconds: 5000 }).send(sending(`http://127.0.0.1:${port}/`))
}

describe('an answer', () => {
  it.each([
    ['nothing at all', '', CUT],
    ['half a status line', 'HTTP/1.1 20', CUT],
    ['a status line only', 'HTTP/1.1 200 OK\r\n', CUT],
    ['half the headers', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n', CUT],
    ['half the body', 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf', CUT],
    ['half a chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab', CUT],
    ['no last chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n', CUT],
    ['an informational answer only', 'HTTP/1.1 103 Early Hints\r\n\r\n', CUT],
    ['100 Continue unasked', 'HTTP/1.1 100 Continue\r\n\r\n', CUT],
    ['another protocol', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n', CUT],
  ])('that is %s is a failure', async (_what, bytes, error) => {
    expect(await outcomeOf(bytes)).toMatchObject({ status: null, error, response: null })
  })

  it.each([
    ['not HTTP', 'SSH-2.0-OpenSSH_9.9\r\n'],
    ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc'],
    ['a length and chunks', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['a negative length', 'HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n'],
    ['a wrong chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n'],
    ['a header without a name', 'HTTP/1.1 200 OK\r\n: 1\r\n\r\n'],
  ])('that is %s is a failure', async (_what, bytes) => {
    const { status, error } = await outcomeOf(bytes)
    expect(status).toBeNull()
    expect(error).toMatch(/^the answer is not (HTTP\/1\.1 \(\w[\w ,/-]+\)|as long as its Content-Length says)$/)
  })

  it('with more headers than 16 KiB is a failure', async () => {
    expect(await outcomeOf('HTTP/1.1 200 OK\r\n', 'x-long: y\r\n'.repeat(10_000))).toMatchObject({
      status: null,
      error: 'the headers of the answer are too large',
    })
    expect(await outcomeOf(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`)).toMatchObject({ status: null })
  })

  it.each([
    ['100 Continue', 'HTTP/1.1 100 Continue\r\n\r\n'],
    ['102 Processing', 'HTTP/1.1 102 Processing\r\n\r\n'],
    ['several of them', 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'.repeat(3)],
  ])('after %s counts, however the bytes come, also on a kept connection', async (_what, before) => {
    const bytes = Buffer.from(`${before}HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok`)
    let pieces = [bytes]
    const write = (socket: Socket, [piece, ...more]: readonly Buffer[]): void => {
      if (piece !== undefined) socket.write(piece, () => setImmediate(write, socket, more))
    }
    const { port, connections } = await answerRaw((socket) => write(socket, pieces))
    const client = sender({ timeoutMilliseconds: 5000 })
    const send = () => client.send(sending(`http://127.0.0.1:${port}/`))
    expect(await send()).toMatchObject({ status: 201, error: null, response: 'ok' })
    for (let cut = 1; cut < bytes.length; cut += 7) {
      pieces = [bytes.subarray(0, cut), bytes.subarray(cut)]
      expect([cut, await send()]).toMatchObject([cut, { status: 201, error: null, response: 'ok' }])
    }
    pieces = Array.from(bytes, (byte) => Buffer.of(byte))
    expect(await send()).toMatchObject({ status: 201, error: null, response: 'ok' })
    expect(connections()).toBe(1)
  })

  it('without a length ends with the connection', async () => {
    expect(await outcomeOf('HTTP/1.1 200 OK\r\n\r\nuntil the end')).toMatchObject({ response: 'until the end' })
    expect(await outcomeOf('HTTP/1.0 500 Oops\r\n\r\n')).toMatchObject({ status: 500, response: null })
  })

  it('is read up to 64 KiB, and then it counts although the rest never comes', async () => {
    const { port, sockets } = await answerRaw((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n')
      socket.write('x'.repeat(70_000))
    })
    const outcome = await sender().send(sending(`http://127.0.0.1:${port}/`))
    expect(outcome).toMatchObject({ status: 200, error: null, response: 'x'.repeat(1024) })
    await until('the connection is closed', () => sockets.size === 0)
  })

  it('that goes on forever in small pieces ends with the time', async () => {
    const { port, sockets } = await answerRaw((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')
      const timer = setInterval(() => socket.write('1\r\na\r\n'), 5)
      socket.on('close', () => clearInterval(timer))
    })
    const { status, error } = await sender({ timeoutMilliseconds: 200 }).send(sending(`http://127.0.0.1:${port}/`))
    expect([status, error]).toEqual([null, 'no answer within 0.2 s'])
    await until('the connection is closed', () => sockets.size === 0)
  })

  it.each([
    ['informational answers', '', 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'],
    ['100 Continue', '', 'HTTP/1.1 100 Continue\r\n\r\n'],
    ['headers of an informational answer', 'HTTP/1.1 100 Continue\r\n', 'a: b\r\n'],
    ['an extension of a chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;', 'a'],
    [
      'extensions of chunks',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n',
      `1;a="${'b'.repeat(999)}"\r\na\r\n`,
    ],
  ])('that never ends with %s is given up after 1 MiB', async (_what, begin, more) => {
    const certificate = makeCertificate()
    const answer = (socket: Socket): void => {
      socket.on('error', () => undefined)
      socket.once('data', () => {
        const write = (): boolean => !socket.destroyed && socket.write(more.repeat(70_000 / more.length)) && write()
        socket.on('drain', write)
        socket.write(begin)
        write()
      })
    }
    const plain = await listen(createServer(answer))
    const secure = await listen(createTlsServer({ cert: certificate.certificate, key: certificate.key }, answer))
    const client = sender({ timeoutMilliseconds: 5000 })
    for (const url of [`http://127.0.0.1:${plain.port}/`, `https://127.0.0.1:${secure.port}/`]) {
      const { status, error } = await client.send(sending(url, { ca: certificate.certificate }))
      expect([status, error]).toEqual([null, 'the answer is too large'])
    }
  })

  it('is shown with its control characters made visible, and never unpacked', async () => {
    const text = Buffer.from('a\0b\x1b[31m\r\n\x7f\u009b\u202e\ufeffü')
    expect(await outcomeOf(`HTTP/1.1 500 X\r\nContent-Length: ${text.length}\r\n\r\n`, text)).toMatchObject({
      response: 'a\u2400b\u241b[31m\u240d\u240a\u2421\ufffd\ufffd\ufffdü',
    })
    const bomb = gzipSync(Buffer.alloc(10_000_000))
    const head = `HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${bomb.length}\r\n\r\n`
    expect((await outcomeOf(head, bomb)).response).toMatch(/^\u241f\ufffd\u2408/)
  })

  it('is cut after 1 KiB, at a whole character', async () => {
    const { response } = await outcomeOf(`HTTP/1.1 400 X\r\nContent-Length: 2001\r\n\r\na${'ü'.repeat(1000)}`)
    expect(response).toBe(`a${'ü'.repeat(511)}`)
    const invalid = Buffer.alloc(1500, 0xff)
    const shown = await outcomeOf('HTTP/1.1 400 X\r\nContent-Length: 1500\r\n\r\n', invalid)
    expect(shown.response).toBe('\ufffd'.repeat(1024))
  })

  it.each([
    ['0', 0],
    ['120', 120_000],
    ['9999999999', 9_999_999_999_000],
    ['Sun, 22 Nov 2026 10:00:30 GMT', 30_000],
    ['Sunday, 22-Nov-26 10:00:30 GMT', 30_000],
    ['Sun Nov 22 10:00:30 2026', 30_000],
    ['Sat, 21 Nov 2026 10:00:30 GMT', 0],
    ['-1', null],
    ['1.5', null],
    ['1e3', null],
    ['99999999999', null],
    ['soon', null],
    ['2026-11-22T10:00:30Z', null],
    ['Sun, 99 Nov 2026 10:00:30 GMT', null],
    ['', null],
  ])('with Retry-After: %s', async (value, milliseconds) => {
    const clock = { now: () => Date.UTC(2026, 10, 22, 10), monotonic: () => 0 }
    const { port } = await answerRaw((socket) => {
      socket.end(`HTTP/1.1 503 X\r\nRetry-After: ${value}\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n`)
    })
    const outcome = await sender({ clock }).send(sending(`http://127.0.0.1:${port}/`))
    expect(outcome).toMatchObject({ status: 503, retryAfterMilliseconds: milliseconds })
  })

  it('that comes before the request was read counts', async () => {
    const { port } = await receive((_request, response) => response.end('ok'))
    const large = await sender().send(sending(`http://127.0.0.1:${port}/`, { body: Buffer.alloc(5_000_000, 32) }))
    expect(large).toMatchObject({ status: 200 })
    const early = await answerRaw((socket) => socket.end('HTTP/1.1 413 X\r\nContent-Length: 0\r\n\r\n'))
    const { status, error } = await sender().send(
      sending(`http://127.0.0.1:${early.port}/`, { body: Buffer.alloc(5_000_000, 32) }),
    )
    expect([413, null]).toContain(status)
    expect(error).toMatch(/^status 413|the connection was closed/)
  })
})
