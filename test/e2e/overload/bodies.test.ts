import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { fetch } from '../../support/app/checked-fetch.ts'
import { failure } from '../../support/app/failure.ts'
import { type Crowd, HEAP_OF_512_MEGABYTES, hold, peakMegabytes } from '../../support/app/hostile.ts'
import { parseAnswers } from '../../support/app/raw-http.ts'
import { deliver, keyOfSupplier, missingFrom } from '../../support/processes/ledger.ts'
import { serve } from '../../support/processes/process.ts'
import { tempFolder } from '../../support/temp-folder.ts'

/** Less than 512 MiB, as the system needs some of them. */
const MAX_MEGABYTES = 400

// Hundreds of megabytes are sent, on a machine that may be small and busy.
vi.setConfig({ testTimeout: 60_000 })

const login = (length: number): string =>
  `POST /Login/Customer/Api/Verify HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`
const delivery = (key: string, length: number): string =>
  `POST /Purchase/update HTTP/1.1\r\nHost: a\r\nApiKey: ${key}\r\nContent-Length: ${length}\r\n\r\n`
const refusals = ({ answers }: Crowd) => parseAnswers(answers().join(''))

async function serveSupplier() {
  const cwd = tempFolder()
  const key = await keyOfSupplier({ cwd })
  const server = await serve({ cwd, env: { NODE_ENV: 'production' }, node: HEAP_OF_512_MEGABYTES })
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
      const supplier = await serveSupplier()
      await besideUnfinished(supplier, { hundreds: 7, length: 400_000, head: login(400_000) })
    })

    it('of a supplier are refused beyond the budget, and others are served meanwhile', async () => {
      const supplier = await serveSupplier()
      await besideUnfinished(supplier, { hundreds: 3, length: 1_048_576, head: delivery(supplier.key, 1_048_576) })
    })

    it('and come in pieces of one byte take no more than their bytes', async () => {
      const { server, key, post } = await serveSupplier()
      const head = `POST /Purchase/update HTTP/1.1\r\nHost: a\r\nApiKey: ${key}\r\nTransfer-Encoding: chunked\r\n\r\n`
      expect((await post('{"Status":1}')).status).toBe(200)
      const before = peakMegabytes(server)
      for (let i = 0; i < 4; i++) await hold(server, 4, head, '1\r\nx\r\n'.repeat(60_000))
      expect((await post('{"Status":1}')).status).toBe(200)
      expect(peakMegabytes(server) - before).toBeLessThan(50)
    })
  },
)

it('a hundred bodies of 1 MiB at once are each stored or refused, and nothing is wrong after', async () => {
  const { server, post, file } = await serveSupplier()
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
