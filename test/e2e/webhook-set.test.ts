import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { fetch } from '../support/app/checked-fetch.ts'
import { WEBHOOK_ALLOW } from '../support/network/allowed-ports.ts'
import { keyOfSupplier } from '../support/processes/ledger.ts'
import { runPrepared } from '../support/processes/prepared-commands.ts'
import { serve } from '../support/processes/process.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { until } from '../support/until.ts'
import { startReceiver } from '../support/webhooks/webhook-receiver.ts'

const VALUE = 'Bearer gateway-token-14142'
const SECRET = 'a secret that is long enough to be one'
const OTHER = 'another secret, just as long as that'

it('sends a header that a command reads from stdin, over a stop and a new TESLIM_SECRET, and shows and stores it nowhere', async () => {
  const where = { cwd: tempFolder(), env: { NODE_ENV: 'production', TESLIM_SECRET: SECRET, ...WEBHOOK_ALLOW } }
  const key = await keyOfSupplier(where)
  const seen: string[] = []
  const run = async (args: readonly string[], stdin = '', env = {}) => {
    const { stdout, stderr, status } = await runPrepared(args, { ...where, env: { ...where.env, ...env }, stdin })
    seen.push(stdout, stderr)
    expect(status, stderr).toBe(0)
    return stdout
  }
  const gateway = await startReceiver(({ headers }, response) => {
    const isKnown = headers.authorization === VALUE
    response.writeHead(isKnown ? 204 : 401).end(isKnown ? '' : `not ${headers.authorization}`)
  })
  let server = await serve(where)
  const deliver = async (order: string): Promise<void> => {
    const body = JSON.stringify({ OrderID: order, Status: 1 })
    const answer = await fetch(`${server.url}/Purchase/update`, { method: 'POST', headers: { ApiKey: key }, body })
    expect(answer.status).toBe(200)
  }
  const cameWith = (order: string) =>
    gateway.received.filter((each) => each.order === order).map(({ headers }) => headers.authorization)

  const { Endpoint } = JSON.parse(await run(['webhook', 'add', '--url', gateway.url, '--json']))
  const id: string = Endpoint.EndpointID
  await deliver('before')
  await until('the gateway refuses it', () => cameWith('before').includes(undefined))
  await run(['webhook', 'set', id, '--secret-header', 'Authorization'], `${VALUE}\n`)
  await until('it is tried again with the header', () => cameWith('before').includes(VALUE))
  await deliver('after')
  await until('it comes', () => cameWith('after').length > 0)
  expect(cameWith('after')).toEqual([VALUE])
  seen.push(server.output())
  server.child.kill('SIGTERM')
  expect(await server.ended).toBe(0)

  await run(['signing-key', 'rewrap'], '', { TESLIM_SECRET: OTHER, TESLIM_SECRET_OLD: SECRET })
  Object.assign(where.env, { TESLIM_SECRET: OTHER })
  server = await serve(where)
  await deliver('later')
  await until('it comes', () => cameWith('later').length > 0)
  expect(cameWith('later')).toEqual([VALUE])
  for (const args of [['webhook', 'show', id], ['webhook', 'list', '--json'], ['audit', 'list'], ['doctor']])
    await run(args)
  seen.push(server.output())
  server.child.kill('SIGTERM')
  expect(await server.ended).toBe(0)
  const files = readdirSync(where.cwd, { recursive: true, withFileTypes: true }).filter((each) => each.isFile())
  expect(files.length).toBeGreaterThan(0)
  seen.push(...files.map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'latin1')))
  expect(seen.join('\n')).not.toMatch(/gateway-token/)
}, 120_000)
