import { expect, it } from 'vitest'
import { fetch } from '../support/app/checked-fetch.ts'
import { WEBHOOK_ALLOW } from '../support/network/allowed-ports.ts'
import { keyOfSupplier } from '../support/processes/ledger.ts'
import { runPrepared } from '../support/processes/prepared-commands.ts'
import { serve } from '../support/processes/process.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { until } from '../support/until.ts'
import { accept, acceptAfter, firstArrivals, repeats, startReceiver } from '../support/webhooks/webhook-receiver.ts'

it('pushes while commands of another process pause, resume and replay, and repeats nothing over a stop', async () => {
  const where = { cwd: tempFolder(), env: { NODE_ENV: 'production', ...WEBHOOK_ALLOW } }
  const key = await keyOfSupplier(where)
  const run = async (...args: string[]) => {
    const { stdout, stderr, status } = await runPrepared(['webhook', ...args, '--json'], where)
    expect([status, stderr]).toEqual([0, expect.any(String)])
    return JSON.parse(stdout)
  }
  const receiver = await startReceiver(acceptAfter(20))
  const receipts: string[] = []
  let server = await serve(where)
  const deliver = async (count: number): Promise<void> => {
    for (let number = 0; number < count; number++) {
      const body = `{"OrderID":"o${receipts.length % 7}","Status":${receipts.length % 4},"n":${receipts.length}}`
      const answer = await fetch(`${server.url}/Purchase/update`, { method: 'POST', headers: { ApiKey: key }, body })
      receipts.push(((await answer.json()) as { data: { ReceiptID: string } }).data.ReceiptID)
    }
  }
  const { Endpoint } = await run('add', '--url', `${receiver.url}?token=secret-token`)
  const id: string = Endpoint.EndpointID
  await deliver(30)
  await receiver.arrived(30)

  const [paused] = await Promise.all([run('pause', id), deliver(20)])
  expect(paused).toMatchObject({ State: 'paused', PausedReason: 'operator' })
  const beforePause = receiver.received.length
  await deliver(5)
  await run('resume', id)
  await receiver.arrived(receipts.length)
  expect(receiver.received.length).toBeGreaterThanOrEqual(beforePause)
  expect(repeats(receiver.received)).toEqual(new Map())

  const again = receipts[3] as string
  await run('replay', id, '--receipt', again)
  await until('it is sent again', () => repeats(receiver.received).get(again) === 2)

  // Stopped while it sends, and started again.
  const delivering = deliver(40)
  await until('some are on their way', () => receiver.received.length > 60)
  await delivering
  server.child.kill('SIGTERM')
  expect(await server.ended).toBe(0)
  server = await serve(where)
  await deliver(5)
  await receiver.arrived(receipts.length)
  expect(repeats(receiver.received)).toEqual(new Map([[again, 2]]))
  const seen = firstArrivals(receiver.received)
  expect([...seen.values()].flat().sort()).toEqual([...receipts].sort())
  for (const ids of seen.values()) expect(ids).toEqual(receipts.filter((receipt) => ids.includes(receipt)))

  receiver.behave = accept
  // A replay ends where the endpoint was.
  await until('everything is confirmed', async () => (await run('show', id)).Endpoint.Pending === 0)
  await run('replay', id, '--from', 'start')
  await until('all came again', () => repeats(receiver.received).size === receipts.length)
  server.child.kill('SIGTERM')
  expect(await server.ended).toBe(0)
  expect(server.output()).not.toContain('secret-token')
}, 120_000)
