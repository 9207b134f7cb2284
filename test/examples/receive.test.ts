import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, renameSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { systemClock } from '#src/lib/clock.ts'
import { systemRandom } from '#src/lib/random.ts'
import { createSender } from '#src/webhook/send/sender.ts'
import { generateSecret, signedHeaders } from '#src/webhook/send/signature.ts'
import { announceMissing, receivers, startExample } from '../support/examples/programs.ts'
import { freePort } from '../support/postgres/postgres-server.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { until } from '../support/until.ts'

/** Sends to any port of this machine. */
async function post(url: string, headers: Readonly<Record<string, string>>, body: Buffer): Promise<number | null> {
  const sender = createSender({ allow: [new URL(url).host], clock: systemClock })
  const { status } = await sender.send({ url, ca: null, headers, body })
  await sender.close()
  return status
}

announceMissing(receivers)

const SECRET = generateSecret(systemRandom)
const now = () => Math.floor(Date.now() / 1000)
const BODY = Buffer.from(
  '{"type":"delivery.received","timestamp":"2026-11-21T08:37:25.959Z","data":{"CustomerID":"customer-1","Payload":{"n":12345678901234567890.10,"t":"ü \\u0041  "}}}',
)
let number = 0
const newId = () => `01a1fd40-d147-7681-8dbc-${String(++number).padStart(12, '0')}`

interface Sent {
  readonly body?: Buffer
  readonly secrets?: readonly string[]
  readonly at?: number
  /** What the signature is made of, if that is something else. */
  readonly signed?: Buffer
  readonly headers?: Readonly<Record<string, string>>
}

const isListening = async (port: number): Promise<boolean> => {
  const socket = connect(port, '127.0.0.1')
  const connected = await once(socket, 'connect').then(
    () => true,
    () => false,
  )
  socket.destroy()
  return connected
}

describe.each(receivers.filter(({ isInstalled }) => isInstalled))('examples/$file', { timeout: 60_000 }, (receiver) => {
  const inbox = join(tempFolder(), 'an inbox')
  const folder = join(inbox, 'customer-1')
  let url = ''
  const start = (port: number, secret: string) =>
    startExample(receiver, inbox, { port, env: { WEBHOOK_SECRET: secret } })
  beforeAll(async () => {
    const port = await freePort()
    start(port, SECRET)
    await until('it listens', () => isListening(port))
    url = `http://127.0.0.1:${port}/webhooks`
  })
  const send = async (id: string, { body = BODY, secrets = [SECRET], at = now(), signed, headers = {} }: Sent = {}) => {
    const sent = { ...signedHeaders(id, at, signed ?? body, secrets), ...headers }
    return post(url, sent, body)
  }
  const stored = () => (existsSync(inbox) ? readdirSync(inbox, { recursive: true }) : [])

  it('stores the bytes as they came, once, before it answers', async () => {
    const id = newId()
    expect(await send(id)).toBe(204)
    expect(readFileSync(join(folder, `${id}.json`))).toEqual(BODY)
    const before = stored()
    expect(await send(id)).toBe(204)
    expect(stored()).toEqual(before)
  })

  it('knows what it has processed already', async () => {
    const id = newId()
    await send(id)
    renameSync(join(folder, `${id}.json`), join(folder, 'done', `${id}.json`))
    const before = stored()
    expect(await send(id)).toBe(204)
    expect(stored()).toEqual(before)
  })

  it('stores it once when it comes many times at once', async () => {
    const id = newId()
    await send(newId())
    const before = stored().length
    expect(await Promise.all(Array.from({ length: 10 }, () => send(id)))).toEqual(Array(10).fill(204))
    expect(stored()).toHaveLength(before + 1)
    expect(readFileSync(join(folder, `${id}.json`))).toEqual(BODY)
  })

  it('answers while 32 connections are kept open, and one more has sent half of a request', async () => {
    const { host, hostname, port } = new URL(url)
    const open = async (text: string): Promise<Socket> => {
      const socket = connect(Number(port), hostname)
      onTestFinished(() => void socket.destroy())
      await once(socket, 'connect')
      socket.write(text)
      return socket
    }
    const head = `POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 2\r\n\r\n`
    await open(`${head}{`)
    const kept = await Promise.all(Array.from({ length: 32 }, () => open(`${head}{}`)))
    for (const socket of kept) expect(String(await once(socket, 'data'))).toMatch(/^HTTP\/1.1 401 /)
    expect(await send(newId())).toBe(204)
  })

  it('accepts one good signature of several', async () => {
    expect(await send(newId(), { secrets: [generateSecret(systemRandom), SECRET] })).toBe(204)
    const more = { headers: { 'webhook-signature': 'v1a,AAAA v1, x' } }
    expect(await send(newId(), more)).toBe(401)
  })

  it('refuses what is not signed by the secret, or not now, and stores nothing', async () => {
    const before = stored()
    const wrong = {
      'another secret': { secrets: [generateSecret(systemRandom)] },
      'another body': { signed: Buffer.from(`${BODY} `) },
      'an old message': { at: now() - 330 },
      'a message of the future': { at: now() + 330 },
      'no signature': { headers: { 'webhook-signature': '' } },
      'another id': { headers: { 'webhook-id': newId() } },
      'another time': { headers: { 'webhook-timestamp': String(now() - 1000) } },
      'no number as time': { headers: { 'webhook-timestamp': 'x' } },
      'an empty time': { headers: { 'webhook-timestamp': '' } },
    }
    for (const [what, more] of Object.entries(wrong)) expect([what, await send(newId(), more)]).toEqual([what, 401])
    expect(stored()).toEqual(before)
  })

  it('makes no file outside of its folder', async () => {
    const before = stored()
    for (const id of ['../escaped', '.hidden', `${'a'.repeat(101)}`]) expect(await send(id)).toBe(400)
    const body = Buffer.from(BODY.toString().replace('customer-1', '../escaped'))
    expect(await send(newId(), { body })).toBe(400)
    const outside = readdirSync(join(inbox, '..'))
    expect([stored(), outside]).toEqual([before, ['an inbox']])
  })

  it('answers a test, and other types, and stores neither', async () => {
    const before = stored()
    const body = Buffer.from('{"type":"teslim.test","timestamp":"2026-11-21T08:37:25.959Z","data":{}}')
    expect(await send('test_1', { body })).toBe(204)
    expect(stored()).toEqual(before)
  })

  it('fails for a signed body that is no JSON, so that it is sent again', async () => {
    expect(await send(newId(), { body: Buffer.from('{') })).toBe(500)
  })

  it('does not start, or accepts nothing, without a secret', async () => {
    const port = await freePort()
    const { kill, ended, said } = start(port, '')
    if (receiver.file === 'receive.php') {
      await until('it listens', () => isListening(port))
      const headers = signedHeaders(newId(), now(), BODY, [SECRET])
      expect(await post(`http://127.0.0.1:${port}/`, headers, BODY)).toBe(500)
      await kill()
    }
    await ended
    expect(said()).toContain('WEBHOOK_SECRET is not set')
  })
})
