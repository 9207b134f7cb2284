import { expect, inject, it } from 'vitest'
import { fetch } from '../support/checked-fetch.ts'
import { makeSupplier } from '../support/ledger.ts'
import { newDatabase } from '../support/postgres-server.ts'
import { serve, teslim } from '../support/process.ts'
import { tempFolder } from '../support/temp-folder.ts'

it('an API key that is revoked or expires reads nothing in any replica a second later', async () => {
  const databaseUrl = await newDatabase(inject('postgresUrl'))
  const where = { cwd: tempFolder(), env: { NODE_ENV: 'production', DATABASE_URL: databaseUrl } }
  const run = async (...args: string[]) => JSON.parse((await teslim([...args, '--json'], where)).stdout)
  const { keyId, key } = await makeSupplier(where, ['--api', '--allow', '*'])
  const replicas = await Promise.all([serve(where), serve(where)])
  const [{ url }] = replicas
  const headers = { ApiKey: key }
  const sent = await fetch(`${url}/Purchase/update`, { method: 'POST', headers, body: '{"OrderID":"1","Status":1}' })
  const { data } = (await sent.json()) as { data: { ReceiptID: string } }
  const delivery = `/Supplier/delivery/${data.ReceiptID}`
  const paths = ['/Supplier/Get', '/Supplier/deliveries', delivery, `${delivery}/payload`]
  const statuses = (ApiKey: string): Promise<number[]> =>
    Promise.all(
      replicas.flatMap((replica) =>
        paths.map(async (path) => (await fetch(replica.url + path, { headers: { ApiKey } })).status),
      ),
    )
  const all = (status: number): number[] => Array.from({ length: 2 * paths.length }, () => status)

  expect(await statuses(key)).toEqual(all(200))
  const customer = (await run('customer', 'list'))[0].id
  const short = await run('key', 'issue', '--customer', customer, '--label', 'short', '--expires', '5s')
  expect(await statuses(short.key)).toEqual(all(200))
  await run('key', 'revoke', keyId)
  await expect.poll(() => statuses(key), { timeout: 1000, interval: 20 }).toEqual(all(401))
  const left = Date.parse(short.expiresAt) - Date.now()
  await expect.poll(() => statuses(short.key), { timeout: Math.max(left, 0) + 1000, interval: 50 }).toEqual(all(401))
}, 60_000)
