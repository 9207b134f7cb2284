import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, inject, it } from 'vitest'
import { fetch } from '../support/app/checked-fetch.ts'
import { newDatabase } from '../support/postgres/postgres-server.ts'
import { makeSupplier } from '../support/processes/ledger.ts'
import { runPrepared } from '../support/processes/prepared-commands.ts'
import { serve } from '../support/processes/process.ts'
import { tempFolder } from '../support/temp-folder.ts'

/** Goes away in the middle of a body. */
const breakOff = async (url: string, key: string): Promise<void> => {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.write(`POST /Purchase/update HTTP/1.1\r\nHost: x\r\nApiKey: ${key}\r\nContent-Length: 9\r\n\r\n{"S`)
  await once(socket, 'connect')
  socket.end()
  await once(socket.resume(), 'close')
}

it.each(['one file', 'PostgreSQL'])(
  'what a server on %s refuses is listed by another process soon after',
  async (on) => {
    const database = on === 'PostgreSQL' ? { DATABASE_URL: await newDatabase(inject('postgresUrl')) } : {}
    const where = { cwd: tempFolder(), env: { NODE_ENV: 'production', TESLIM_RATE_LIMIT: '2', ...database } }
    const run = async (...args: string[]) => JSON.parse((await runPrepared([...args, '--json'], where)).stdout)
    const { id, key } = await makeSupplier(where)
    const { key: other } = await run('key', 'issue', '--customer', id)
    const server = await serve(where)
    const { url, child, ended } = server
    const deliver = async (ApiKey: string) =>
      (await fetch(`${url}/Purchase/update`, { method: 'POST', headers: { ApiKey }, body: '{"Status":1}' })).status
    const refused = async () =>
      (await run('audit', 'list', '--action', 'delivery')).map(
        ({ details }: { details: { errorCode: string } }) => details.errorCode,
      )
    expect([await deliver(key), await deliver(key), await deliver(key)]).toEqual([200, 200, 429])
    expect(await deliver(other)).toBe(200)
    await expect.poll(refused, { timeout: 10_000, interval: 500 }).toEqual(['RATE_LIMITED'])
    expect(await deliver('nonsense')).toBe(401)
    await breakOff(url, other)
    await expect.poll(server.output).toContain('"aborted":true')
    child.kill('SIGTERM')
    expect(await ended).toBe(0)
    expect(await refused()).toEqual(['RATE_LIMITED', 'API_KEY_INVALID'])
  },
)
