import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { fetch } from '../../support/checked-fetch.ts'
import { failure } from '../../support/failure.ts'
import { type Crowd, hold, peakMegabytes } from '../../support/hostile.ts'
import { addSupplier, deliver, missingFrom } from '../../support/ledger.ts'
import { serve } from '../../support/process.ts'
import { parseAnswers } from '../../support/raw-http.ts'
import { tempFolder } from '../../support/temp-folder.ts'

/** What a container limited to 512 MiB has by default: an eighth. */
const BUDGET = (512 * 1024 * 1024) / 8
/** Less than 512 MiB, as the system needs some of them. */
const MAX_MEGABYTES = 400

// Hundreds of megabytes are sent, on a machine that may be small and busy.
vi.setConfig({ testTimeout: 60_000 })

const production = { NODE_ENV: 'production' }
const login = (length: number): string =>
  `POST /Login/Customer/Api/Verify HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`
const delivery = (key: string, length: number): string =>
  `POST /Purchase/update HTTP/1.1\r\nHost: a\r\nApiKey: ${key}\r\nContent-Length: ${length}\r\n\r\n`
const refusals = ({ answers }: Crowd) => parseAnswers(answers().join(''))

async function serveSupplier(env: Record<string, string>) {
  const cwd = tempFolder()
  const key = await addSupplier({ cwd })
  const server = await serve({ cwd, env: { ...production, ...env } })
  const post = (body: string, headers = {}) =>
    fetch(`${server.url}/Purchase/update`, { method: 'POST', headers: { ApiKey: key, ...headers }, body })
  return { server, key, post, file: join(cwd, 'data/teslim.db') }
}

type Supplier = Awaited<ReturnType<typeof serveSupplier>>

const isLinux = process.platform === 'linux'
if (!isLinux) console.log('bodies that never end: skipped, memory is read from /proc')

describe.skipIf(!isLinux)(
  'hundreds of bodies that never end, where 512 MiB of memory are allowed (read from /proc)',
  () => {
    async function besideUnfinished(
      { server, key, file }: Supplier,
      { hundreds, length, head }: { hundreds: number; length: number; head: string },
    ) {
      const load = deliver({ url: server.url, key, clients: 4 })
      const body = Buffer.alloc(length - 1, 'x')
      const crowds: Crowd[] = []
      for (let i = 0; i < hundreds; i++) crowds.push(await hold(server, 100, head, body))
      await load.more(50)
      const refused = () => crowds.flatMap(refusals)
      await expect.poll(() => refused().length, { timeout: 15_000 }).toBeGreaterThan(150)
      for (const { status, head: headers, body } of refused()) {
        expect([status, body]).toEqual([503, failure('BODIES_OVERLOADED')])
        expect(headers).toContain('retry-after: 1')
        expect(headers).toContain('connection: close')
      }
      await load.more(50)
      for (const each of crowds) each.leave()
      await load.more(50)
      await load.stop()
      expect(load.others).toEqual(new Map())
      expect(peakMegabytes(server)).toBeLessThan(MAX_MEGABYTES)
      expect(missingFrom(file, load.acknowledged)).toEqual([])
    }

    it('of strangers who log in are refused beyond the budget, and suppliers are served meanwhile', async () => {
      const supplier = await serveSupplier({ TESLIM_BODY_BUDGET: `${BUDGET}` })
      await besideUnfinished(supplier, { hundreds: 7, length: 400_000, head: login(400_000) })
    })

    it('of a supplier are refused beyond the budget, and others are served meanwhile', async () => {
      const supplier = await serveSupplier({ TESLIM_BODY_BUDGET: `${BUDGET}` })
      await besideUnfinished(supplier, { hundreds: 3, length: 1_048_576, head: delivery(supplier.key, 1_048_576) })
    })

    it('and come in pieces of one byte take no more than their bytes', async () => {
      const { server, key, post } = await serveSupplier({ TESLIM_BODY_BUDGET: `${BUDGET}` })
      const head = `POST /Purchase/update HTTP/1.1\r\nHost: a\r\nApiKey: ${key}\r\nTransfer-Encoding: chunked\r\n\r\n`
      expect((await post('{"Status":1}')).status).toBe(200)
      const before = peakMegabytes(server)
      for (let i = 0; i < 4; i++) await hold(server, 4, head, '1\r\nx\r\n'.repeat(60_000))
      expect((await post('{"Status":1}')).status).toBe(200)
      expect(peakMegabytes(server) - before).toBeLessThan(50)
    })
  },
)

describe('while unfinished large bodies take up the budget', () => {
  const small = `{"Status":1,"filler":"${'x'.repeat(15_000)}"}`
  const large = `{"Status":1,"filler":"${'x'.repeat(1_000_000)}"}`

  it('small ones are taken whole or in pieces, logins are taken, and a large one gets the room of a slow one', async () => {
    const { server, key, post } = await serveSupplier({ TESLIM_BODY_BUDGET: '4194304' })
    const slow = await hold(server, 10, delivery(key, 1_048_576), Buffer.alloc(1_000_000, 'x'))
    await expect.poll(() => refusals(slow).length, { timeout: 5000 }).toBe(9)

    expect((await post('{"Status":1}')).status).toBe(200)
    const inPieces = await hold(server, 1, delivery(key, small.length), small.slice(0, 3000))
    const whole = await hold(server, 1, delivery(key, small.length), small.slice(0, 3000), small.slice(3000))
    await expect.poll(() => refusals(whole)).toMatchObject([{ status: 200 }])
    // The server has had it for longer than the whole one, and has not turned it away.
    expect(inPieces.open()).toBe(1)
    const body = JSON.stringify({ Email: 'a@b.co', Password: 'wrong one', callbackData: 'x'.repeat(60_000) })
    const headers = { 'Content-Type': 'application/json' }
    const answer = await fetch(`${server.url}/Login/Customer/Api/Verify`, { method: 'POST', headers, body })
    expect(await answer.json()).toMatchObject({ errorCode: 'LOGIN_REFUSED' })

    // Once the unfinished ones are two seconds old.
    await expect.poll(async () => (await post(large)).status, { timeout: 10_000 }).toBe(200)
    await expect.poll(() => refusals(slow).length).toBeGreaterThan(9)
    expect(new Set(refusals(slow).map(({ status }) => status))).toEqual(new Set([503]))
  })

  it('the log says once that there is too much, and once that it is over', async () => {
    const { server, key } = await serveSupplier({ TESLIM_BODY_BUDGET: '4194304' })
    const slow = await hold(server, 10, delivery(key, 1_048_576), Buffer.alloc(1_000_000, 'x'))
    await expect.poll(() => refusals(slow).length, { timeout: 5000 }).toBe(9)
    await server.printed(/"refused":9,"msg":"keeping up again"/)
    expect(server.output().match(/"msg":"overloaded/g)).toHaveLength(1)
    expect(server.output()).not.toContain('request failed')
  })
})

it('a hundred bodies of 1 MiB at once are each stored or refused, and nothing is wrong after', async () => {
  const { server, post, file } = await serveSupplier({ TESLIM_BODY_BUDGET: `${BUDGET}` })
  const acknowledged: { receipt: string; order: string; body: string }[] = []
  const one = async (number: number): Promise<number> => {
    const body = `{"OrderID":"${number}","Status":1,"filler":"${'x'.repeat(1_048_500)}"}`
    const answer = await post(body)
    const { data, errorCode } = (await answer.json()) as { data: { ReceiptID: string }; errorCode: string }
    if (answer.status === 200) acknowledged.push({ receipt: data.ReceiptID, order: `${number}`, body })
    else expect([errorCode, answer.headers.get('retry-after')]).toEqual([expect.stringMatching(/OVERLOADED$/), '1'])
    return answer.status
  }
  const statuses = await Promise.all(Array.from({ length: 100 }, (_, number) => one(number)))
  expect(new Set([...statuses, 200, 503])).toEqual(new Set([200, 503]))
  expect(acknowledged.length).toBeGreaterThan(20)
  expect(await one(100)).toBe(200)
  if (isLinux) expect(peakMegabytes(server)).toBeLessThan(MAX_MEGABYTES)
  expect(missingFrom(file, acknowledged)).toEqual([])
})
