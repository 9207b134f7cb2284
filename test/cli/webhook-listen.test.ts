import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { utcTimes } from '#src/cli/output/times.ts'
import { createReceive } from '#src/cli/webhook/receive.ts'
import { systemClock } from '#src/lib/clock.ts'
import { signedHeaders } from '#src/webhook/send/signature.ts'
import { ask } from '../support/app/ask.ts'
import { listenAllowed } from '../support/network/allowed-ports.ts'
import { runCommand } from '../support/processes/command.ts'
import { tempFolder } from '../support/temp-folder.ts'

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const OTHER = `whsec_${Buffer.alloc(32, 8).toString('base64')}`
const BODY = '{"type":"delivery.received"}'
const now = () => Math.floor(Date.now() / 1000)

/** Listens until `end` is called. */
async function listening(args: readonly string[] = [], options: Partial<Parameters<typeof runCommand>[1]> = {}) {
  const stop = new AbortController()
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const ended = runCommand(['webhook', 'listen', '--port', '0', '--json', ...args], {
    cwd: tempFolder(),
    env: { TESLIM_WEBHOOK_SECRET: SECRET },
    stop: stop.signal,
    onError: (line) => {
      const url = /listening on (http:\S+),/.exec(line)?.[1]
      if (url !== undefined) resolve(url)
    },
    ...options,
  })
  onTestFinished(() => stop.abort())
  void ended.then(({ stderr }) => reject(new Error(stderr)))
  const url = await promise
  const end = async () => {
    stop.abort()
    const { status, stdout, stderr } = await ended
    return {
      status,
      stderr,
      requests: stdout
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line)),
    }
  }
  const post = async (body: string, headers: Record<string, string> = {}, path = '/') =>
    (await ask(`${url}${path}`, { method: 'POST', headers, body })).status
  return { url, end, post }
}

describe('teslim webhook listen', () => {
  it('prints what is verified, and why the rest is not', async () => {
    const { url, end, post } = await listening()
    const signed = signedHeaders('msg_1', now(), Buffer.from(BODY), [SECRET])
    expect(await post(BODY, signed, '/hook?a=b')).toBe(204)
    expect(await post(`${BODY} `, signed)).toBe(401)
    expect(await post(BODY, signedHeaders('msg_1', now() - 400, Buffer.from(BODY), [SECRET]))).toBe(401)
    expect(await post('no webhook')).toBe(401)
    expect((await ask(url, { method: 'GET', headers: {} })).status).toBe(405)
    expect(await post('x'.repeat(1_200_000), signed)).toBe(413)
    const { status, stderr, requests } = await end()
    expect([status, stderr]).toEqual([0, expect.stringMatching(/\n1 request verified, 5 refused\n$/)])
    const refused = { Verified: false, Status: 401 }
    expect(requests).toEqual([
      {
        At: expect.stringMatching(/Z$/),
        Verified: true,
        Reason: null,
        Status: 204,
        Method: 'POST',
        Path: '/hook?a=b',
        WebhookID: 'msg_1',
        Bytes: BODY.length,
        Body: BODY,
      },
      expect.objectContaining({ ...refused, Reason: expect.stringContaining('bad signature') }),
      expect.objectContaining({ ...refused, Reason: expect.stringContaining('old timestamp') }),
      expect.objectContaining({ ...refused, Reason: expect.stringContaining('missing header'), WebhookID: null }),
      expect.objectContaining({ ...refused, Status: 405, Method: 'GET' }),
      expect.objectContaining({ ...refused, Status: 413, Reason: expect.stringContaining('too large') }),
    ])
    // It holds no more than it may, whatever is sent.
    expect(requests[5].Bytes).toBeLessThan(1_200_000)
    await expect(ask(url, { method: 'GET', headers: {} })).rejects.toThrow()
  })

  it('answers what is verified as it is told, and nothing else', async () => {
    const { end, post } = await listening(['--answer', '503'], { env: { TESLIM_WEBHOOK_SECRET: `${OTHER} ${SECRET}` } })
    const signed = signedHeaders('msg_1', now(), Buffer.from(BODY), [SECRET])
    expect(await post(BODY, signed)).toBe(503)
    expect(await post('{}', signed)).toBe(401)
    expect((await end()).requests).toMatchObject([{ Verified: true }, { Verified: false }])
  })

  it('shows the beginning of a long body, and how long it is', async () => {
    const texts: string[] = []
    const { receive } = createReceive({
      ...{ secrets: [SECRET], answer: 204, maxBytes: 100_000, json: false, clock: systemClock, times: utcTimes },
      out: (text) => void texts.push(text),
    })
    const server = createServer(receive)
    const url = `http://127.0.0.1:${await listenAllowed(server)}/${'p'.repeat(300)}`
    onTestFinished(() => void server.close())
    for (const body of ['x'.repeat(5000), '\0'.repeat(1900)]) await ask(url, { method: 'POST', headers: {}, body })
    const cut = (text: string): string => `  | ${text.slice(0, 2000)}`
    expect(texts.map((text) => text.split('\n').slice(1))).toEqual([
      [`  | POST /${'p'.repeat(199)}...`, '  | webhook-id: none', cut('x'.repeat(2000)), '  and more, of 5,000 bytes'],
      [
        `  | POST /${'p'.repeat(199)}...`,
        '  | webhook-id: none',
        cut('\\u0000'.repeat(400)),
        '  and more, of 1,900 bytes',
      ],
    ])
  })

  it('ends although a request never comes to its end', async () => {
    const { url, end } = await listening()
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    await once(socket, 'connect')
    socket.on('error', () => undefined)
    socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf')
    const closed = new Promise((resolve) => socket.on('close', resolve))
    expect(await end()).toMatchObject({ status: 0, requests: [] })
    await closed
  })

  it.each([
    [[], {}, 'the secret of the endpoint is needed'],
    [['--secret-stdin'], {}, 'the secret of the endpoint is needed'],
    [[], { TESLIM_WEBHOOK_SECRET: 'geheim' }, 'TESLIM_WEBHOOK_SECRET: its value is not allowed'],
    [['--port', '65536'], {}, '--port takes a whole number from 0 to 65535, not "65536"'],
    [['--port', 'x'], {}, '--port takes a whole number'],
    [['--answer', '199'], {}, '--answer takes a whole number from 200 to 599, not "199"'],
    [['--secret-stdin'], {}, 'the secret is not a secret that begins with whsec_', 'geheim\n'],
  ])('is refused with %j and %j, in one line', async (args, env, line, stdin = '') => {
    const options = { cwd: tempFolder(), env, stdin }
    const { status, stdout, stderr } = await runCommand(['webhook', 'listen', ...args], options)
    expect([status, stdout, stderr]).toEqual([2, '', expect.stringContaining(line)])
    expect(stderr).not.toContain('geheim')
  })

  it('says when its port is in use', async () => {
    const server = createServer()
    const port = await listenAllowed(server)
    onTestFinished(() => void server.close())
    const options = { cwd: tempFolder(), env: { TESLIM_WEBHOOK_SECRET: SECRET } }
    const { status, stderr } = await runCommand(['webhook', 'listen', '--port', String(port)], options)
    expect([status, stderr]).toEqual([
      1,
      expect.stringContaining(`The port ${port} of 127.0.0.1 cannot be used (EADDRINUSE)`),
    ])
  })
})
