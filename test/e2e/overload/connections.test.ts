import { execFileSync } from 'node:child_process'
import { request } from 'node:http'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { fetch } from '../../support/app/checked-fetch.ts'
import { failure } from '../../support/app/failure.ts'
import { type Crowd, hold, peakMegabytes } from '../../support/app/hostile.ts'
import { parseAnswers } from '../../support/app/raw-http.ts'
import { deliver, keyOfSupplier, missingFrom } from '../../support/processes/ledger.ts'
import { serve } from '../../support/processes/process.ts'
import { tempFolder } from '../../support/temp-folder.ts'

vi.setConfig({ testTimeout: 60_000 })

const NODE_ENV = 'production'
/** One client of the tests stands for many behind a proxy. */
const MANY_ADDRESSES = { TESLIM_TRUST_PROXY: 'loopback' }
/** Deliveries without a key: everything else is refused on the last eighth of the connections. */
const ASK = 'POST /Purchase/update HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n'

/** The status of a delivery from an address of this machine. */
const askFrom = (url: string, localAddress: string, headers: Record<string, string>): Promise<number> =>
  new Promise((resolve, reject) => {
    const sent = request(
      `${url}/Purchase/update`,
      { method: 'POST', agent: false, localAddress, headers },
      (answer) => {
        answer.resume()
        resolve(answer.statusCode ?? 0)
      },
    )
    sent.on('error', reject)
    sent.end('{"Status":1}')
  })

const answersTo = ({ answers }: Crowd) => parseAnswers(answers().join(''))

const refused = {
  status: 503,
  head: expect.stringMatching(/^(?=.*retry-after: 1\r\n).*connection: close\r\n/s),
  body: failure('CONNECTIONS_OVERLOADED'),
}

describe('a connection beyond TESLIM_MAX_CONNECTIONS', () => {
  it('gets a 503 for its request, or is closed if it sends none; health is answered, and those within stay', async () => {
    const cwd = tempFolder()
    await keyOfSupplier({ cwd })
    const server = await serve({ cwd, env: { NODE_ENV, TESLIM_MAX_CONNECTIONS: '20', ...MANY_ADDRESSES } })
    const within = await hold(server, 20, ASK)
    await expect.poll(() => answersTo(within).length).toBe(20)
    const beyond = await hold(server, 2, ASK)
    await expect.poll(() => answersTo(beyond)).toEqual([refused, refused])
    await expect.poll(beyond.open).toBe(0)
    const silent = await hold(server, 2)
    await expect.poll(silent.open, { timeout: 5000 }).toBe(0)
    expect((await fetch(`${server.url}/livez`)).status).toBe(200)
    expect([within.open(), new Set(answersTo(within).map(({ status }) => status))]).toEqual([20, new Set([401])])
    within.leave()
    await expect.poll(async () => (await fetch(`${server.url}/Customer/Get`)).status, { timeout: 2000 }).toBe(401)
  })
})

describe('an address', () => {
  it('gets a quarter of the connections, and others are served however many it opens; none is left when it leaves', async () => {
    const cwd = tempFolder()
    const key = await keyOfSupplier({ cwd })
    const server = await serve({ cwd, env: { NODE_ENV, TESLIM_MAX_CONNECTIONS: '80' } })
    const within = await hold(server, 20, ASK)
    await expect.poll(() => answersTo(within).length).toBe(20)
    const beyond = await hold(server, 3, ASK)
    await expect.poll(() => answersTo(beyond)).toEqual([refused, refused, refused])
    // Far more than the server holds of all addresses.
    const flood = await hold(server, 150)
    const ask = (localAddress: string) => askFrom(server.url, localAddress, { ApiKey: key })
    expect(await Promise.all(['127.0.0.2', '127.0.0.3', '127.0.0.2'].map(ask))).toEqual([200, 200, 200])
    await expect.poll(flood.open, { timeout: 5000 }).toBe(0)
    expect(within.open()).toBe(20)
    expect((await ask('127.0.0.1')) === 503).toBe(true)
    within.leave()
    await expect.poll(() => ask('127.0.0.1'), { timeout: 2000 }).toBe(200)
  })

  it('that is a trusted proxy gets all of them', async () => {
    const cwd = tempFolder()
    await keyOfSupplier({ cwd })
    const env = { NODE_ENV, TESLIM_MAX_CONNECTIONS: '80', TESLIM_TRUST_PROXY: '10.0.0.0/8, 127.0.0.1' }
    const server = await serve({ cwd, env })
    const many = await hold(server, 80, ASK)
    await expect.poll(() => answersTo(many).map(({ status }) => status)).toEqual(new Array(80).fill(401))
  })
})

const openFiles = process.platform === 'win32' ? 0 : Number(execFileSync('sh', ['-c', 'ulimit -n'])) || 1e6
const CROWD = 10_000
const isLinux = process.platform === 'linux'
if (!isLinux) console.log('10,000 idle connections: skipped, memory is read from /proc')
else if (openFiles < CROWD + 200) console.log(`10,000 idle connections: skipped, ulimit -n is ${openFiles}`)

it.skipIf(!isLinux || openFiles < CROWD + 200)(
  '10,000 idle connections take bounded memory, those beyond 8,192 get a 503, and suppliers within are served',
  async () => {
    const cwd = tempFolder()
    const key = await keyOfSupplier({ cwd })
    const server = await serve({ cwd, env: { NODE_ENV, ...MANY_ADDRESSES } })
    const load = deliver({ url: server.url, key, clients: 2 })
    await load.more(10)
    // The clients of the load hold some, too.
    const idle = await hold(server, 8180, ASK)
    const others = await hold(server, CROWD - 8180, ASK)
    await expect.poll(() => answersTo(others).length, { timeout: 15_000 }).toBe(CROWD - 8180)
    const beyond = answersTo(others).filter(({ status }) => status !== 401)
    expect(beyond.length).toBeGreaterThan(CROWD - 8200)
    for (const each of beyond) expect(each).toEqual(refused)
    await load.more(50)
    expect(idle.open()).toBe(8180)
    idle.leave()
    await load.more(50)
    await load.stop()
    expect(load.others).toEqual(new Map())
    expect(peakMegabytes(server)).toBeLessThan(400)
    expect(missingFrom(join(cwd, 'data/teslim.db'), load.acknowledged)).toEqual([])
  },
)

const hasPrlimit = (() => {
  try {
    return execFileSync('prlimit', ['--version']).length > 0
  } catch {
    console.log('64 descriptors: skipped, there is no prlimit here')
    return false
  }
})()

it.skipIf(!hasPrlimit)(
  'with 64 descriptors it holds fewer connections, says so, and does all its work when they leave',
  async () => {
    const cwd = tempFolder()
    const key = await keyOfSupplier({ cwd })
    // On one core, as each thread that hashes has descriptors of its own.
    const through = ['taskset', '--cpu-list', '0', 'prlimit', '--nofile=64:64']
    const server = await serve({ cwd, through, env: { NODE_ENV } })
    await server.printed(/open files \(ulimit -n\) allows \d+ connections, TESLIM_MAX_CONNECTIONS is 8192/)
    const logIn = (): Promise<number> => {
      const body = JSON.stringify({ Email: 'a@b.co', Password: 'wrong one' })
      const headers = { 'Content-Type': 'application/json' }
      const asked = fetch(`${server.url}/Login/Customer/Api/Verify`, { method: 'POST', headers, body })
      return asked.then(
        ({ status }) => status,
        () => 0,
      )
    }
    const load = deliver({ url: server.url, key, clients: 2 })
    for (let round = 0; round < 3; round++) {
      const many = await hold(server, 200, ASK)
      // The first login starts a thread while they are there.
      expect([0, 400, 503]).toContain(await logIn())
      for (const answer of answersTo(many)) if (answer.status !== 401) expect(answer).toEqual(refused)
      many.leave()
      await expect.poll(logIn, { timeout: 2000 }).toBe(400)
      await load.more(20)
    }
    await load.stop()
    // Node closes what is far beyond the limit without an answer.
    expect([...load.others.keys()].filter((status) => status !== 503 && status !== 0)).toEqual([])
    expect(missingFrom(join(cwd, 'data/teslim.db'), load.acknowledged)).toEqual([])
  },
)
