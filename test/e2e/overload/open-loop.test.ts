import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { type OpenLoopOptions, openLoop } from '../../../bench/open-loop.ts'
import { fetch } from '../../support/app/checked-fetch.ts'
import { peakMegabytes } from '../../support/app/hostile.ts'
import { keyOfSupplier, missingFrom } from '../../support/processes/ledger.ts'
import { type RunOptions, type ServerProcess, serve } from '../../support/processes/process.ts'
import { tempFolder } from '../../support/temp-folder.ts'

vi.setConfig({ testTimeout: 60_000 })

const isLinux = process.platform === 'linux'
if (!isLinux) console.log('the memory under overload: not checked, it is read from /proc')

const MAX_CONNECTIONS = 1000
/** One client of the tests stands for many behind a proxy. */
const env = {
  NODE_ENV: 'production',
  TESLIM_MAX_CONNECTIONS: `${MAX_CONNECTIONS}`,
  TESLIM_TRUST_PROXY: 'loopback',
}

async function serveSupplier(options: Partial<RunOptions> = {}) {
  const cwd = tempFolder()
  const apiKey = await keyOfSupplier({ cwd })
  const server = await serve({ cwd, env, ...options })
  const { url } = server
  const run = async (options: Pick<OpenLoopOptions, 'perSecond' | 'seconds' | 'mostConnections'>) =>
    openLoop({ url, apiKey, ...options })
  return { server, run, apiKey, file: join(cwd, 'data/teslim.db') }
}

/** More is sent than anything here can take, over more connections than may be held. */
const TOO_MUCH = { perSecond: 30_000, mostConnections: 1200 }

async function isNormal({ url }: ServerProcess, apiKey: string): Promise<void> {
  const start = performance.now()
  const deliver = () =>
    fetch(`${url}/Purchase/update`, { method: 'POST', headers: { apiKey }, body: '{"Status":1}' }).then(
      ({ status }) => status,
      () => 0,
    )
  await expect.poll(deliver, { timeout: 2000 }).toBe(200)
  expect(performance.now() - start).toBeLessThan(2000)
}

it('at twice what it can take, what is answered 200 is stored, the rest is refused, and memory is bounded', async () => {
  const { server, run, apiKey, file } = await serveSupplier()
  const closed = await run({ perSecond: 30_000, seconds: 1.5, mostConnections: 64 })
  const perSecond = Math.round((closed.taken.length / 1.5) * 2)
  const open = await run({ perSecond, seconds: 3, mostConnections: TOO_MUCH.mostConnections })
  await isNormal(server, apiKey)
  expect([...open.statuses.keys()].filter((status) => status !== 200 && status !== 503)).toEqual([])
  expect(open.taken.length).toBeGreaterThan(perSecond / 2)
  if (isLinux) expect(peakMegabytes(server)).toBeLessThan(400)
  expect(missingFrom(file, [...closed.acknowledged, ...open.acknowledged])).toEqual([])
})

it('with a heap of 96 MB it takes the same, and large bodies, without ending', async () => {
  const { server, run, apiKey, file } = await serveSupplier({ node: ['--max-old-space-size=96'] })
  const body = `{"Status":1,"filler":"${'x'.repeat(1_000_000)}"}`
  const large = Array.from({ length: 100 }, async () => {
    const answer = await fetch(`${server.url}/Purchase/update`, { method: 'POST', headers: { apiKey }, body })
    return answer.status
  })
  const open = await run({ ...TOO_MUCH, seconds: 2 })
  const statuses = await Promise.all(large.map((each) => each.catch(() => 0)))
  expect(statuses).toContain(200)
  expect([...open.statuses.keys(), ...statuses].filter((status) => ![200, 503, 0].includes(status))).toEqual([])
  await isNormal(server, apiKey)
  expect(missingFrom(file, open.acknowledged)).toEqual([])
})

it('a log that nobody reads stops nothing, and goes on when it is read again', async () => {
  const { server, run, apiKey, file } = await serveSupplier()
  server.child.stdout?.pause()
  const { acknowledged, statuses } = await run({ perSecond: 30_000, seconds: 2, mostConnections: 64 })
  expect([...statuses.keys()]).toEqual([200])
  await isNormal(server, apiKey)
  server.child.stdout?.resume()
  const headers = { 'x-request-id': 'read-again' }
  const isLogged = async () => {
    await fetch(`${server.url}/livez`, { headers })
    return server.output().includes('read-again')
  }
  await expect.poll(isLogged, { timeout: 5000 }).toBe(true)
  if (isLinux) expect(peakMegabytes(server)).toBeLessThan(400)
  expect(missingFrom(file, acknowledged)).toEqual([])
})
