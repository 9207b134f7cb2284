import { expect, it, onTestFinished } from 'vitest'
import { fetch } from '../../support/app/checked-fetch.ts'
import { canFakeClocks, fakeClock } from '../../support/app/fake-clock.ts'
import { freePort } from '../../support/postgres/postgres-server.ts'
import { runPrepared } from '../../support/processes/prepared-commands.ts'
import { serve, serveSandbox, teslim } from '../../support/processes/process.ts'
import { tempFolder } from '../../support/temp-folder.ts'
import { until } from '../../support/until.ts'

const HOUR = 3600
/** A minute is promised; the rest is for a busy machine. */
const SAID_MILLISECONDS = 80_000

it.runIf(canFakeClocks)(
  'a server whose clock goes on says within a minute that a supplier is silent, as doctor does, and counts it when it starts again',
  async () => {
    const cwd = tempFolder()
    const port = await freePort()
    const clock = fakeClock()
    const env = { ...clock.env, TESLIM_SILENCE: '6h', TESLIM_OPS_PORT: String(port) }
    const { server, apiKey } = await serveSandbox({ cwd, env })
    onTestFinished(() => clock.clear(server.child.pid))
    const json = async (...args: string[]) => JSON.parse((await teslim([...args, '--json'], { cwd, env })).stdout)
    const counted = async () => {
      const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
      return /^teslim_suppliers_silent (\d+)$/m.exec(text)?.[1]
    }
    await until('the server has looked', async () => (await counted()) === '0')
    const body = '{"OrderID":"PO-1","Status":1}'
    await fetch(`${server.url}/Purchase/update`, { method: 'POST', headers: { ApiKey: apiKey }, body })
    const used = async () => JSON.parse((await runPrepared(['key', 'list', '--json'], { cwd })).stdout)[0].lastUsedAt
    await until('the use is recorded', async () => (await used()) !== null)

    clock.setClock(7 * HOUR)
    const began = performance.now()
    await server.printed(/a supplier is silent/)
    expect(performance.now() - began).toBeLessThan(SAID_MILLISECONDS)
    await until('it is counted', async () => (await counted()) === '1')
    const [{ id, silentSince }] = await json('customer', 'list')
    expect(Math.round((Date.now() - Date.parse(silentSince)) / 1000 / HOUR)).toBe(0)
    const lines = server.output().split('\n')
    expect(lines.filter((line) => line.includes('a supplier is silent'))).toEqual([expect.stringContaining(id)])
    const { checks } = await json('doctor')
    expect(checks.filter(({ name }: { name: string }) => name === 'suppliers')).toMatchObject([
      { status: 'warning', message: expect.stringContaining('sandbox@example.com silent for 7 hours') },
    ])
    server.child.kill('SIGTERM')
    expect(await server.ended).toBe(0)

    const again = await serve({ cwd, env })
    onTestFinished(() => clock.clear(again.child.pid))
    await again.printed(/suppliers are silent: teslim doctor names them/)
    expect(again.output()).not.toContain('a supplier is silent')
    again.child.kill('SIGTERM')
    expect(await again.ended).toBe(0)
  },
  240_000,
)
