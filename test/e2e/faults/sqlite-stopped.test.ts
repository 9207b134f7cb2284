import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { fetch } from '../../support/app/checked-fetch.ts'
import { deliver, missingFrom } from '../../support/processes/ledger.ts'
import { serveSandbox } from '../../support/processes/process.ts'
import { tempFolder } from '../../support/temp-folder.ts'

const canStop = process.platform !== 'win32'
if (!canStop) console.info('skipped: Windows cannot stop a process and let it go on')

it.runIf(canStop)(
  'a server that is stopped for seconds under load and goes on answers each request once, loses nothing, and its tokens stay valid',
  async () => {
    const cwd = tempFolder()
    const { server, email, password, apiKey } = await serveSandbox({ cwd })
    const { url, child } = server
    const logIn = await fetch(`${url}/Login/Customer/Api/Verify`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ Email: email, Password: password }),
    })
    const { data } = (await logIn.json()) as { data: { Token: string } }
    const load = deliver({ url, key: apiKey })
    await load.more(50)

    // Clients that lose patience and send again, as they should, with the key of the first try.
    const keys = Array.from({ length: 20 }, () => randomUUID())
    const sendOnce = (key: string, signal: AbortSignal | null = null) => {
      const body = `{"OrderID":"${key}","Status":1}`
      const headers = { ApiKey: apiKey, 'Idempotency-Key': key }
      return fetch(`${url}/Purchase/update`, { method: 'POST', headers, body, signal })
    }
    child.kill('SIGSTOP')
    const before = load.acknowledged.length
    const impatient = keys.map((key) => sendOnce(key, AbortSignal.timeout(1500)))
    const gaveUp = await Promise.allSettled(impatient)
    expect(new Set(gaveUp.map(({ status }) => status))).toEqual(new Set(['rejected']))
    const whileStopped = load.acknowledged.length
    child.kill('SIGCONT')
    // What had been answered just before may have been read after.
    expect(whileStopped - before).toBeLessThan(9)

    const answers = await Promise.all(keys.map((key) => sendOnce(key)))
    expect(answers.map(({ status }) => status)).toEqual(keys.map(() => 200))
    await load.more(100)
    expect([...load.others]).toEqual([])
    const headers = { authorization: `Bearer ${data.Token}` }
    expect((await fetch(`${url}/Customer/Get`, { headers })).status).toBe(200)
    child.kill('SIGKILL')
    await load.stop()

    const path = join(cwd, 'data/teslim.db')
    expect(missingFrom(path, load.acknowledged)).toEqual([])
    expect(new Set(load.acknowledged.map(({ receipt }) => receipt)).size).toBe(load.acknowledged.length)
    const database = new DatabaseSync(path)
    const rows = database.prepare('SELECT count(*) AS rows FROM delivery WHERE order_id = ?')
    expect(keys.map((key) => rows.get(key)?.rows)).toEqual(keys.map(() => 1))
    // A body of the load has a number of its own, so that none is there twice unless it was stored twice.
    const twice = database.prepare('SELECT payload FROM delivery GROUP BY payload HAVING count(*) > 1').all()
    expect(twice).toEqual([])
    database.close()
  },
)
