import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '#src/lib/clock.ts'
import { systemRandom } from '#src/lib/random.ts'
import { createSender } from '#src/webhook/send/sender.ts'
import { generateSecret, signedHeaders } from '#src/webhook/send/signature.ts'
import { freePort } from '../support/postgres/postgres-server.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { until } from '../support/until.ts'

const examples = fileURLToPath(new URL('../../examples/', import.meta.url))
/** Sends to any port of this machine. */
async function post(url: string, headers: Readonly<Record<string, string>>, body: Buffer): Promise<number | null> {
  const sender = createSender({ allow: [new URL(url).host], clock: systemClock })
  const { status } = await sender.send({ url, ca: null, headers, body })
  await sender.close()
  return status
}

const works = (program: string, ...words: string[]) => spawnSync(program, words).status === 0
/** The interpreter itself: where several versions are installed, `python3` is a script that looks for one. */
const python = spawnSync('python3', ['-c', 'import sys; print(sys.executable)'], { encoding: 'utf8' }).stdout?.trim()
const languages = [
  ['receive.php', (port: number) => ['php', '-S', `127.0.0.1:${port}`], works('php', '--version'), 'php'],
  [
    'receive.cs',
    () => ['dotnet', 'run'],
    Number.parseInt(spawnSync('dotnet', ['--version']).stdout?.toString(), 10) >= 10,
    'dotnet 10',
  ],
  ['receive.go', () => ['go', 'run'], works('go', 'version'), 'go'],
  ['receive.py', () => [python], Boolean(python), 'python3'],
  ['receive.mjs', () => [process.execPath], true, 'node'],
] as const
for (const [file, , installed, needed] of languages)
  if (!installed) console.info(`examples/${file} is not run: ${needed} is not installed`)

const SECRET = generateSecret(systemRandom)
const now = () => Math.floor(Date.now() / 1000)
const BODY = Buffer.from(
  '{"type":"delivery.received","timestamp":"2026-11-21T08:37:25.959Z","data":{"Payload":{"n":12345678901234567890.10,"t":"ü \\u0041  "}}}',
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

describe.each(languages)('examples/%s', { timeout: 60_000 }, (file, commandOf, installed) => {
  const promise = it.runIf(installed)
  const inbox = join(tempFolder(), 'an inbox')
  let url = ''
  const start = (port: number, secret: string) => {
    const [program = '', ...options] = commandOf(port)
    const { PATH, HOME } = process.env
    const env = { PATH, HOME, WEBHOOK_SECRET: secret, WEBHOOK_INBOX: inbox, PORT: String(port) }
    return spawn(program, [...options, join(examples, file)], { env, cwd: tempFolder() })
  }
  let child: ChildProcess | undefined
  afterAll(async () => {
    if (child?.kill()) await once(child, 'close')
  })
  beforeAll(async () => {
    if (!installed) return
    const port = await freePort()
    child = start(port, SECRET)
    await until('it listens', () => isListening(port))
    url = `http://127.0.0.1:${port}/webhooks`
  })
  const send = async (id: string, { body = BODY, secrets = [SECRET], at = now(), signed, headers = {} }: Sent = {}) => {
    const sent = { ...signedHeaders(id, at, signed ?? body, secrets), ...headers }
    return post(url, sent, body)
  }
  const stored = () => (existsSync(inbox) ? readdirSync(inbox).filter((name) => name !== 'done') : [])

  promise('stores the bytes as they came, once, before it answers', async () => {
    const id = newId()
    expect(await send(id)).toBe(204)
    expect(readFileSync(join(inbox, `${id}.json`))).toEqual(BODY)
    const before = stored()
    expect(await send(id)).toBe(204)
    expect(stored()).toEqual(before)
  })

  promise('knows what it has processed already', async () => {
    const id = newId()
    await send(id)
    mkdirSync(join(inbox, 'done'), { recursive: true })
    renameSync(join(inbox, `${id}.json`), join(inbox, 'done', `${id}.json`))
    const before = stored()
    expect(await send(id)).toBe(204)
    expect(stored()).toEqual(before)
  })

  promise('stores it once when it comes many times at once', async () => {
    const id = newId()
    const before = stored().length
    expect(await Promise.all(Array.from({ length: 10 }, () => send(id)))).toEqual(Array(10).fill(204))
    expect(stored()).toHaveLength(before + 1)
    expect(readFileSync(join(inbox, `${id}.json`))).toEqual(BODY)
  })

  promise('accepts one good signature of several', async () => {
    expect(await send(newId(), { secrets: [generateSecret(systemRandom), SECRET] })).toBe(204)
    const more = { headers: { 'webhook-signature': 'v1a,AAAA v1, x' } }
    expect(await send(newId(), more)).toBe(401)
  })

  promise('refuses what is not signed by the secret, or not now, and stores nothing', async () => {
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

  promise('makes no file outside of its folder', async () => {
    const before = stored()
    for (const id of ['../escaped', '.hidden', `${'a'.repeat(101)}`]) expect(await send(id)).toBe(400)
    expect([stored(), existsSync(join(inbox, '../escaped.json'))]).toEqual([before, false])
  })

  promise('answers a test, and other types, and stores neither', async () => {
    const before = stored()
    const body = Buffer.from('{"type":"teslim.test","timestamp":"2026-11-21T08:37:25.959Z","data":{}}')
    expect(await send('test_1', { body })).toBe(204)
    expect(stored()).toEqual(before)
  })

  promise('fails for a signed body that is no JSON, so that it is sent again', async () => {
    expect(await send(newId(), { body: Buffer.from('{') })).toBe(500)
  })

  promise('does not start, or accepts nothing, without a secret', async () => {
    const port = await freePort()
    const child = start(port, '')
    const shown = text(child.stderr)
    if (file === 'receive.php') {
      await until('it listens', () => isListening(port))
      const headers = signedHeaders(newId(), now(), BODY, [SECRET])
      expect(await post(`http://127.0.0.1:${port}/`, headers, BODY)).toBe(500)
      child.kill()
    }
    await once(child, 'close')
    expect(await shown).toContain('WEBHOOK_SECRET is not set')
  })
})
