import { once } from 'node:events'
import { createServer } from 'node:net'
import { expect, it } from 'vitest'
import { fetch } from '../support/app/checked-fetch.ts'
import { freePort } from '../support/postgres/postgres-server.ts'
import { serveSandbox, teslim } from '../support/processes/process.ts'
import { tempFolder } from '../support/temp-folder.ts'

it('a running server tells its metrics on a port of their own, until it has stopped', async () => {
  const port = await freePort()
  const { server, apiKey } = await serveSandbox({ cwd: tempFolder(), env: { TESLIM_OPS_PORT: String(port) } })
  expect(server.output()).toContain(`metrics at http://127.0.0.1:${port}/metrics`)
  const body = '{"OrderID":"PO-1","Status":2,"Products":[{"Sku":"SKU-1"}]}'
  await fetch(`${server.url}/Purchase/update`, { method: 'POST', headers: { ApiKey: apiKey }, body })
  const scrape = async () => (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  await expect
    .poll(scrape)
    .toContain('teslim_http_requests_total{method="POST",route="/Purchase/update",status="200"} 1')
  const text = await scrape()
  expect(text).toContain('teslim_deliveries_total{status="2",duplicate="false"} 1\n')
  const startedAt = Number(/^process_start_time_seconds (\S+)$/m.exec(text)?.[1])
  expect(Math.abs(Date.now() / 1000 - startedAt)).toBeLessThan(60)
  expect((await fetch(`${server.url}/metrics`)).status).toBe(404)
  server.child.kill('SIGTERM')
  expect(await server.ended).toBe(0)
})

it('a chosen port that is in use fails the start in one clear line', async () => {
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  const { port } = taken.address() as { port: number }
  const env = { PORT: '0', TESLIM_OPS_PORT: String(port) }
  const { status, stderr } = await teslim(['serve'], { cwd: tempFolder(), env })
  expect([status, stderr]).toEqual([
    1,
    `teslim serve: cannot listen on 127.0.0.1:${port} for metrics: the port is in use; set TESLIM_OPS_PORT to another one\n`,
  ])
  taken.close()
})
