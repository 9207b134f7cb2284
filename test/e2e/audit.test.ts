import { expect, inject, it } from 'vitest'
import { newDatabase } from '../support/postgres-server.ts'
import { serve, teslim } from '../support/process.ts'
import { tempFolder } from '../support/temp-folder.ts'

it.each(['one file', 'PostgreSQL'])(
  'what a server on %s refuses is listed by another process soon after',
  async (on) => {
    const database = on === 'PostgreSQL' ? { DATABASE_URL: await newDatabase(inject('postgresUrl')) } : {}
    const where = { cwd: tempFolder(), env: { NODE_ENV: 'production', TESLIM_RATE_LIMIT: '1', ...database } }
    const run = async (...args: string[]) => JSON.parse((await teslim([...args, '--json'], where)).stdout)
    const { id } = await run('customer', 'add', '--email', 'a@b.co', '--allow', '*', '--generate')
    const { key } = await run('key', 'issue', '--customer', id)
    const { url, child, ended } = await serve(where)
    const deliver = async (ApiKey: string) =>
      (await fetch(`${url}/Purchase/update`, { method: 'POST', headers: { ApiKey }, body: '{"Status":1}' })).status
    const refused = async () =>
      (await run('audit', 'list', '--action', 'delivery')).map(
        ({ details }: { details: { errorCode: string } }) => details.errorCode,
      )
    expect([await deliver(key), await deliver(key)]).toEqual([200, 429])
    await expect.poll(refused, { timeout: 10_000 }).toEqual(['RATE_LIMITED'])
    expect(await deliver('nonsense')).toBe(401)
    child.kill('SIGTERM')
    expect(await ended).toBe(0)
    expect(await refused()).toEqual(['RATE_LIMITED', 'API_KEY_INVALID'])
  },
)
