import { statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { fetch } from '../../support/app/checked-fetch.ts'
import { type Crowd, hold } from '../../support/app/hostile.ts'
import { parseAnswers } from '../../support/app/raw-http.ts'
import { BYTES_OF_SMALL_LOG, canTrace, inject, smallLog } from '../../support/faults/faults.ts'
import {
  type Acknowledged,
  deliver,
  type Load,
  missingFrom,
  receiptsMissingFrom,
} from '../../support/processes/ledger.ts'
import { type RunOptions, serve, serveSandbox } from '../../support/processes/process.ts'
import { tempFolder } from '../../support/temp-folder.ts'
import { until } from '../../support/until.ts'

const traceable = canTrace()

/** Two such batches may be under way at once. */
const ITEMS_OF_A_BATCH = 512

interface UnderLoad extends Omit<RunOptions, 'cwd'> {
  readonly clients?: number
}

async function underLoad({ clients = 4, ...options }: UnderLoad = {}) {
  const cwd = tempFolder()
  const sandbox = await serveSandbox({ ...options, cwd })
  const { server, apiKey } = sandbox
  const load = deliver({ url: server.url, key: apiKey, clients })
  await load.more(50)
  return { ...sandbox, cwd, load, path: join(cwd, 'data/teslim.db') }
}

async function refused(load: Load, more: number): Promise<void> {
  const before = load.others.get(503) ?? 0
  await expect.poll(() => load.others.get(503) ?? 0, { timeout: 15_000 }).toBeGreaterThan(before + more)
}

it.runIf(traceable)(
  'writes that fail are refused, deliveries go on by themselves afterwards, and a kill after all of them loses nothing',
  async () => {
    const { server, load, path } = await underLoad()
    for (const [fault, reason] of [
      ['EIO', 'disk I/O error'],
      ['ENOSPC', 'disk is full'],
      ['EROFS', 'disk I/O error'],
    ] as const) {
      const printed = server.output().length
      const heal = await inject(server.child.pid, [`pwrite64:error=${fault}`])
      await refused(load, 0)
      const soFar = load.acknowledged.length
      await refused(load, 30)
      expect(load.acknowledged.length, fault).toBe(soFar)
      await server.printed(new RegExp(reason), printed)
      await heal()
      await load.more(100)
      expect([...load.others.keys()], fault).toEqual([503])
      const acknowledged = [...load.acknowledged]
      expect(missingFrom(path, acknowledged), fault).toEqual([])
    }
    server.child.kill('SIGKILL')
    await load.stop()
    expect(missingFrom(path, load.acknowledged)).toEqual([])
  },
)

describe.runIf(traceable)('the disk fails', () => {
  it('a commit whose fsync fails is final, whether it fails from then on or once: the process ends with status 1 and says to check the disk, and the next one has everything', async () => {
    const { cwd, server: first, load: firstLoad, path, apiKey: key } = await underLoad()
    const acknowledged: Acknowledged[] = []
    let [server, load] = [first, firstLoad]
    for (const fault of ['EIO', 'ENOSPC:when=1']) {
      const faults = ['fsync', 'fdatasync'].map((call) => `${call}:error=${fault}`)
      const heal = await inject(server.child.pid, faults, `${path}-wal`)
      await server.printed(/"level":60/)
      const confirmed = load.acknowledged.length
      await expect.poll(() => server.child.exitCode, { timeout: 5000 }).toBe(1)
      await load.stop()
      await heal()
      // Answers that were on their way.
      expect(load.acknowledged.length - confirmed).toBeLessThanOrEqual(8)
      const fatal = server.output().match(/^.*"level":60.*$/gm)
      expect(fatal).toEqual([
        expect.stringContaining('an fsync of its file failed: check the disk before the next start'),
      ])
      acknowledged.push(...load.acknowledged)
      expect(missingFrom(path, acknowledged)).toEqual([])
      server = await serve({ cwd })
      load = deliver({ url: server.url, key, clients: 4 })
      await load.more(50)
    }
    await load.stop()
    expect(missingFrom(path, [...acknowledged, ...load.acknowledged])).toEqual([])
  })

  it('a log that cannot be written to the file grows, and nothing that was acknowledged is lost', async () => {
    const { server, load, path, apiKey } = await underLoad(smallLog)
    await inject(server.child.pid, ['fsync:error=EIO', 'fdatasync:error=EIO'], path)
    const large = deliver({ url: server.url, key: apiKey, bytes: 60_000, clients: 4 })
    // Otherwise it would begin again.
    await expect.poll(() => statSync(`${path}-wal`).size, { timeout: 20_000 }).toBeGreaterThan(1.5 * BYTES_OF_SMALL_LOG)
    expect([...load.others, ...large.others]).toEqual([])
    server.child.kill('SIGKILL')
    await Promise.all([load.stop(), large.stop()])
    expect(missingFrom(path, [...load.acknowledged, ...large.acknowledged])).toEqual([])
  })
})

it.runIf(traceable)(
  'while every fsync takes 300 ms reads, logins and health checks answer, and what the queue does not hold is refused',
  async () => {
    const { server, load, path, apiKey, email, password } = await underLoad({
      env: { TESLIM_LOGIN_MEMORY: '0' },
      clients: 40,
    })
    const { url } = server
    const logIn = () =>
      fetch(`${url}/Login/Customer/Api/Verify`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ Email: email, Password: password }),
      })
    const { data } = (await (await logIn()).json()) as { data: { Token: string } }
    const headers = { authorization: `Bearer ${data.Token}` }
    const receipt = load.acknowledged[0]?.receipt
    const delayed = (microseconds: number) =>
      inject(
        server.child.pid,
        ['fsync', 'fdatasync'].map((call) => `${call}:delay_enter=${microseconds}`),
      )
    // So slow that also a busy machine brings in more at once than the 10,000 that may wait.
    const healSlowest = await delayed(3_000_000)
    const one = `POST /Purchase/update HTTP/1.1\r\nHost: a\r\nApiKey: ${apiKey}\r\nContent-Length: 12\r\n\r\n{"Status":1}`
    const many = await hold(server, 40, one.repeat(400))
    const askers: Crowd[] = []
    // Not the clients of the load: each of them may wait for an answer by now.
    await until('one more is refused', async () => {
      askers.push(await hold(server, 1, one))
      return askers.some((asker) => asker.answers().join().startsWith('HTTP/1.1 503 '))
    })
    await healSlowest()
    const heal = await delayed(300_000)
    await load.more(20)
    const within = async (bound: number, ask: () => Promise<Response>): Promise<void> => {
      const start = performance.now()
      expect((await ask()).status).toBe(200)
      expect(performance.now() - start).toBeLessThan(bound)
    }
    await within(2000, () => fetch(`${url}/livez`))
    await within(2000, () => fetch(`${url}/readyz`))
    await within(2000, () => fetch(`${url}/Purchase/list`, { headers }))
    await within(2000, () => fetch(`${url}/Purchase/delivery/${receipt}`, { headers }))
    await within(8000, logIn)
    expect([...load.others.keys()].filter((status) => status !== 503)).toEqual([])
    await heal()
    await load.stop()
    expect(missingFrom(path, load.acknowledged)).toEqual([])
    const answers = () => [many, ...askers].flatMap((crowd) => crowd.answers()).flatMap(parseAnswers)
    await expect.poll(() => answers().length, { timeout: 15_000 }).toBe(16_000 + askers.length)
    const [taken, others] = [
      answers().filter(({ status }) => status === 200),
      answers().filter(({ status }) => status !== 200),
    ]
    // Fewer than the 10,000 that waited if the disk was slow for longer than a delivery waits.
    expect(taken.length).toBeGreaterThan(2 * ITEMS_OF_A_BATCH)
    const receipts = taken.map(({ body }) => body.data?.ReceiptID ?? '')
    expect(receiptsMissingFrom(path, receipts)).toEqual([])
    expect(new Set(others.map(({ status, body }) => `${status} ${body.errorCode}`))).toEqual(
      new Set(['503 STORE_OVERLOADED']),
    )
  },
)
