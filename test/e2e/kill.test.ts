import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { serve, teslim } from '../support/process.ts'
import { tempFolder } from '../support/temp-folder.ts'

const ROUNDS = 15
const CLIENTS = 24

interface Acknowledged {
  readonly receipt: string
  readonly order: string
  readonly body: string
}

it('a server that is killed under load has lost nothing it answered 200, and no order disagrees with its last delivery', async () => {
  const cwd = tempFolder()
  const env = { NODE_ENV: 'production' }
  await teslim(['customer', 'add', '--email', 'a@b.co', '--allow', '*', '--generate'], { cwd, env })
  const { stdout } = await teslim(['key', 'issue', '--customer', 'a@b.co', '--json'], { cwd, env })
  const { key } = JSON.parse(stdout)
  const acknowledged: Acknowledged[] = []
  let sent = 0

  for (let round = 0; round < ROUNDS; round++) {
    const { url, child, ended } = await serve({ cwd, env })
    const killAt = acknowledged.length + 50 + Math.floor(Math.random() * 400)
    const client = async (number: number): Promise<void> => {
      for (;;) {
        const order = `order-${number}-${sent % 3}`
        const body = `{"OrderID":"${order}", "Status":${sent % 4}, "n":${sent++}, "filler":"${'x'.repeat(sent % 2000)}"}`
        const answer = await fetch(`${url}/Purchase/update`, { method: 'POST', headers: { ApiKey: key }, body })
        const { data } = (await answer.json()) as { data: { ReceiptID: string } }
        if (answer.status === 200) acknowledged.push({ receipt: data.ReceiptID, order, body })
        if (acknowledged.length >= killAt) child.kill('SIGKILL')
      }
    }
    // Each client ends with the connection that the kill breaks.
    await Promise.allSettled(Array.from({ length: CLIENTS }, (_, number) => client(number)))
    expect(await ended).toBe(null)
  }

  // One more start, which recovers the file, and an orderly end.
  const { child, ended } = await serve({ cwd, env })
  child.kill('SIGTERM')
  expect(await ended).toBe(0)

  const database = new DatabaseSync(join(cwd, 'data/teslim.db'))
  expect(database.prepare('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }])
  const find = database.prepare(`SELECT position, payload FROM delivery WHERE receipt = unhex(?, '-')`)
  const lastAcknowledged = new Map<string, number>()
  for (const { receipt, order, body } of acknowledged) {
    const row = find.get(receipt)
    expect(Buffer.from(row?.payload as Uint8Array).toString()).toBe(body)
    lastAcknowledged.set(order, Math.max(lastAcknowledged.get(order) ?? 0, row?.position as number))
  }
  const states = database
    .prepare(`
      SELECT order_id, s.status, state_position,
             (SELECT max(position) FROM delivery d WHERE d.order_id = s.order_id) AS newest,
             (SELECT status FROM delivery d WHERE d.position = s.state_position) AS newest_status
        FROM order_state s`)
    .all()
  for (const { order_id, status, state_position, newest, newest_status } of states) {
    expect([order_id, state_position, status]).toEqual([order_id, newest, newest_status])
    expect(state_position).toBeGreaterThanOrEqual(lastAcknowledged.get(String(order_id)) ?? 0)
  }
  expect(acknowledged.length).toBeGreaterThan(ROUNDS * 50)
  expect(states.map(({ order_id }) => order_id)).toEqual(expect.arrayContaining([...lastAcknowledged.keys()]))
}, 120_000)
