import { once } from 'node:events'
import { request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { peakMegabytes } from '../support/app/hostile.ts'
import { openUpload, type UploadAnswer, upload } from '../support/app/upload.ts'
import { startTcpProxy } from '../support/network/tcp-proxy.ts'
import { keyOfSupplier } from '../support/processes/ledger.ts'
import { type ServerProcess, serve } from '../support/processes/process.ts'
import { randomBelow } from '../support/random.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { until } from '../support/until.ts'

const env = { NODE_ENV: 'production' }
const key = await keyOfSupplier({ cwd: tempFolder(), env })

/** A server on a store of its own, all of which have the same key. */
async function startUploads(more: Record<string, string> = {}): Promise<{ cwd: string; server: ServerProcess }> {
  const cwd = tempFolder()
  await keyOfSupplier({ cwd, env })
  return { cwd, server: await serve({ cwd, env: { ...env, ...more } }) }
}
const [{ cwd, server }, usual, hurried] = await Promise.all([
  startUploads(),
  startUploads(),
  startUploads({ TESLIM_REQUEST_TIMEOUT: '2' }),
])

const order = (id: string, filler = 0): string => `{"OrderID":"${id}","Status":1,"filler":"${'x'.repeat(filler)}"}`

function stored(folder: string, prefix: string): string[] {
  const database = new DatabaseSync(join(folder, 'data/teslim.db'), { readOnly: true })
  const rows = database
    .prepare('SELECT order_id FROM delivery WHERE order_id LIKE ? ORDER BY position')
    .all(`${prefix}-%`)
  database.close()
  return rows.map(({ order_id }) => String(order_id))
}

/** The answers in the bytes of a response: each chunk holds whole lines. */
const answersIn = (bytes: string): UploadAnswer[] =>
  Array.from(bytes.matchAll(/^\{"Line":.*\}$/gm), ([line]) => JSON.parse(line))

/** Resolves when the server has logged the end of so many uploads. */
const uploadsEnded = (count: number): Promise<void> =>
  until(`${count} uploads have ended`, () => server.output().split('"route":"/Purchase/updates"').length > count)

it('stores what it answers, in the order of the lines and without a gap, wherever the connection is cut', async () => {
  const ROUNDS = 6
  const COUNT = 2000
  const recorded: string[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const lines = Array.from({ length: COUNT }, (_, index) => order(`cut${round}-${index}`, randomBelow(400)))
    const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''))
    const cutFrom = round % 2 === 0 ? 'client' : 'server'
    let left = randomBelow(bytes.length)
    const answered: Buffer[] = []
    // The cut may leave half of a line at the server.
    const { url } = await startTcpProxy(server.url, (piece, from) => {
      if (from === 'server') answered.push(piece)
      if (from !== cutFrom) return piece.length
      const allowed = Math.min(left, piece.length)
      left -= allowed
      return allowed
    })
    const { sent, done } = openUpload(url, key)
    sent.end(bytes)
    await done.catch(() => undefined)
    recorded.push(Buffer.concat(answered).toString())
  }
  await uploadsEnded(ROUNDS)
  // Whatever was under way is stored when the server has ended.
  server.child.kill('SIGTERM')
  expect(await server.ended).toBe(0)
  let cutBetween = 0
  for (const [round, bytes] of recorded.entries()) {
    const found = stored(cwd, `cut${round}`)
    expect(found).toEqual(Array.from({ length: found.length }, (_, index) => `cut${round}-${index}`))
    const answers = answersIn(bytes)
    expect(answers.map(({ Line, success }) => [Line, success])).toEqual(answers.map((_, index) => [index + 1, true]))
    expect(found.length).toBeGreaterThanOrEqual(answers.length)
    if (found.length > 0 && found.length < COUNT) cutBetween++
  }
  expect(cutBetween).toBeGreaterThan(0)
})

it('takes 100 MB with bounded memory, and reads only as fast as its answers are read', async () => {
  const { server } = usual
  const { url } = server
  await upload(url, key, order('warm'))
  const before = peakMegabytes(server)
  const LINES = 10_000
  const { sent, done, answers } = openUpload(url, key)
  for (let line = 0; line < LINES; line++) {
    if (!sent.write(`${order(`big-${line}`, 10_000)}\n`)) await once(sent, 'drain')
  }
  sent.end()
  expect((await done).answers).toHaveLength(LINES)
  expect(answers.every(({ success }) => success)).toBe(true)
  expect(peakMegabytes(server) - before).toBeLessThan(200)
})

it('stops reading from a client that reads no answers, and cuts it off', async () => {
  const { url, printed } = hurried.server
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.on('error', () => undefined).pause()
  const COUNT = 300_000
  const line = '{"OrderID":"mute-1","Status":1}\n'
  socket.write(
    `POST /Purchase/updates HTTP/1.1\r\nHost: a\r\nApiKey: ${key}\r\nContent-Length: ${COUNT * line.length}\r\n\r\n`,
  )
  const piece = Buffer.from(line.repeat(1000))
  let isOpen = true
  socket.on('close', () => {
    isOpen = false
  })
  const pump = (): void => {
    while (isOpen && socket.write(piece));
    socket.once('drain', pump)
  }
  pump()
  await printed(/"route":"\/Purchase\/updates"[^\n]*"aborted":true/)
  socket.destroy()
  expect(stored(hurried.cwd, 'mute').length).toBeLessThan(COUNT)
})

it('may take longer than TESLIM_REQUEST_TIMEOUT, as long as lines come', async () => {
  const { url } = hurried.server
  const { sent, answers, done } = openUpload(url, key)
  let count = 0
  const sendLine = () => {
    sent.write(`${order(`slow-${count++}`)}\n`)
    return until('the line is answered', () => answers.length === count)
  }
  await sendLine()
  // Node looks at all connections at once: what begins later is not ended before.
  const later = connect(Number(new URL(url).port), '127.0.0.1')
  later.resume().write(`POST /Purchase/update HTTP/1.1\r\nHost: a\r\nApiKey: ${key}\r\nContent-Length: 9\r\n\r\n{`)
  while (!later.closed) await sendLine()
  sent.end()
  const { answers: all } = await done
  expect(all).toHaveLength(count)
  expect(all.every(({ success }) => success)).toBe(true)
})

it('asks a client that expects 100-continue to go on, and answers what is pipelined behind an upload', async () => {
  const { url } = usual.server
  const { sent, done } = openUpload(url, key, { Expect: '100-continue' })
  sent.flushHeaders()
  await once(sent, 'continue')
  sent.end(order('expected'))
  expect((await done).answers).toMatchObject([{ Line: 1, success: true }])
  const refused = request(`${url}/Purchase/updates`, {
    method: 'POST',
    agent: false,
    headers: { Expect: '100-continue' },
  })
  refused.flushHeaders()
  const [response] = await once(refused, 'response')
  expect(response.statusCode).toBe(401)
  refused.destroy()

  const socket: Socket = connect(Number(new URL(url).port), '127.0.0.1')
  const body = `${order('piped-1')}\n${order('piped-2')}`
  const live = 'GET /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'
  socket.write(
    `POST /Purchase/updates HTTP/1.1\r\nHost: a\r\nApiKey: ${key}\r\nContent-Length: ${body.length}\r\n\r\n${body}${live}`,
  )
  let bytes = ''
  socket.on('data', (piece) => {
    bytes += piece
  })
  await once(socket, 'end')
  expect(answersIn(bytes)).toMatchObject([
    { Line: 1, success: true },
    { Line: 2, success: true },
  ])
  expect(bytes.match(/HTTP\/1\.1 200/g)).toHaveLength(2)
})
