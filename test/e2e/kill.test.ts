import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { type Acknowledged, deliver, keyOfSupplier, missingFrom } from '../support/processes/ledger.ts'
import { serve } from '../support/processes/process.ts'
import { randomBelow } from '../support/random.ts'
import { tempFolder } from '../support/temp-folder.ts'

const ROUNDS = 4
const CLIENTS = 24

it('a server that is killed under load has lost nothing it answered 200, and no order disagrees with its last delivery', async () => {
  const cwd = tempFolder()
  const env = { NODE_ENV: 'production' }
  const key = await keyOfSupplier({ cwd, env })
  const acknowledged: Acknowledged[] = []

  for (let round = 0; round < ROUNDS; round++) {
    const { url, child, ended } = await serve({ cwd, env })
    const load = deliver({ url, key, clients: CLIENTS })
    await load.more(50 + randomBelow(250))
    child.kill('SIGKILL')
    await load.stop()
    acknowledged.push(...load.acknowledged)
    expect(await ended).toBe(null)
  }

  // One more start, which recovers the file, and an orderly end.
  const { child, ended } = await serve({ cwd, env })
  child.kill('SIGTERM')
  expect(await ended).toBe(0)

  const path = join(cwd, 'data/teslim.db')
  expect(missingFrom(path, acknowledged)).toEqual([])
  const database = new DatabaseSync(path)
  const find = database.prepare(`SELECT position FROM delivery WHERE receipt = unhex(?, '-')`)
  const lastAcknowledged = new Map<string, number>()
  for (const { receipt, order } of acknowledged) {
    const position = find.get(receipt)?.position as number
    lastAcknowledged.set(order, Math.max(lastAcknowledged.get(order) ?? 0, position))
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
