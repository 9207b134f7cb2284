import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { commandNames } from '#src/cli/command-table.ts'
import { newId, systemRandom } from '#src/lib/random.ts'
import { readJsonShapes } from '../../tools/json-shapes.ts'
import { fetch } from '../support/app/checked-fetch.ts'
import { compared, definedTwice, printedViolation, shapeViolation } from '../support/docs/printed-shapes.ts'
import { WEBHOOK_ALLOW } from '../support/network/allowed-ports.ts'
import { runCommand } from '../support/processes/command.ts'
import { commandStage } from '../support/processes/command-stage.ts'
import { delivery } from '../support/store/store-rows.ts'
import { startReceiver } from '../support/webhooks/webhook-receiver.ts'

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

/** Runs every command once that a script may run; runCommand compares what each prints with docs/json.md. */
async function runAll(): Promise<void> {
  const { url } = await startReceiver()
  // Nothing listens there.
  const env = { ...WEBHOOK_ALLOW, TESLIM_API_KEY: 'k', TESLIM_WEBHOOK_SECRET: SECRET, PORT: '1' }
  const { cwd, path, run, json, withStore } = commandStage(env)
  for (const words of ['version', 'help', 'config', 'completion zsh', 'migrate', 'signing-key rotate'])
    await json(...words.split(' '))
  const { id } = await json('customer', 'add', '--email', 'a@b.co', '--api', '--generate')
  const key = await json('key', 'issue', '--customer', id, '--label', 'erp', '--from', '10.0.0.0/8', '--rate', '5')
  const { receiptId } = await withStore(async (store) => {
    const made = delivery(id, {
      orderId: 'PO-1',
      receivedAt: Date.now(),
      payload: Buffer.from('{"Status":1,"ProductID":"b"}'),
      origin: { keyId: key.id, address: '192.0.2.1', requestId: 'r-1' },
    })
    await store.deliveries.deliver(made)
    await store.refused.keep([refusal(id, key.id)], { maxBytes: 1e6, notKept: 0 })
    return made
  })
  const [{ RefusalID }] = (await json('delivery', 'refused', 'list')).Refusals
  const { EndpointID } = (await json('webhook', 'add', '--url', url, '--from', 'start')).Endpoint
  writeFileSync(join(cwd, 'lines.ndjson'), '{"Status":1}\n')
  const succeed = [
    'customer list',
    `customer show ${id}`,
    `customer set ${id} --silence 24h`,
    `customer set-password ${id} --generate`,
    `customer disable ${id} --reason left`,
    `customer enable ${id}`,
    `customer allow ${id} A-*`,
    `customer disallow ${id} A-*`,
    'key list',
    `key show ${key.id}`,
    `key set ${key.id} --expires 9d`,
    `key rotate ${key.id}`,
    `key revoke ${key.id}`,
    'order list',
    'order show PO-1',
    'delivery list',
    'delivery list --product b',
    `delivery show ${receiptId}`,
    'delivery export',
    `delivery refused show ${RefusalID}`,
    'stats',
    'webhook list',
    `webhook show ${EndpointID}`,
    `webhook show ${EndpointID} --receipt ${receiptId}`,
    `webhook set ${EndpointID} --status 0,3`,
    `webhook pause ${EndpointID}`,
    `webhook resume ${EndpointID}`,
    `webhook replay ${EndpointID} --from start`,
    `webhook rotate-secret ${EndpointID}`,
    `webhook test ${EndpointID}`,
    `webhook remove ${EndpointID}`,
    'audit list',
    `token revoke --customer ${id}`,
    'signing-key list',
    `delivery erase ${receiptId} --dry-run`,
    `delivery erase ${receiptId}`,
    `order erase PO-1 --customer ${id} --dry-run`,
    'purge --older 400d --dry-run',
    'purge --older 400d',
    'copy --take-back',
    'backup backup.db',
    'restore backup.db --check',
    'restore backup.db',
    'restore --recovered',
    `customer remove ${id}`,
    `customer remove ${id} --erase`,
  ]
  for (const words of succeed) await json(...words.split(' '))
  const others: [string, number, object?][] = [
    ['health', 1],
    ['doctor', 0],
    ['deliver lines.ndjson', 1],
    ['signing-key rewrap', 0, { TESLIM_SECRET: 'a secret that is long enough' }],
    [`customer show ${id}x`, 1],
    ['customer', 2],
    ['purge', 2],
    ['stats', 2, { TESLIM_DOCS: 'maybe' }],
  ]
  for (const [words, status, more] of others) {
    const done = await runCommand([...words.split(' '), '--json'], {
      cwd,
      env: { ...env, DATABASE_URL: `sqlite:${path}`, ...more },
    })
    expect([words, done.status]).toEqual([words, status])
  }
  await listen(cwd, env)
  expect((await run('serve', '--nonsense', '--json')).status).toBe(2)
}

const refusal = (customerId: string, keyId: string) => ({
  refusalId: newId(Date.now(), systemRandom),
  at: Date.now(),
  customerId,
  keyId,
  orderId: 'PO-1',
  errorCode: 'INVALID_REQUEST',
  message: 'The request is not valid.',
  requestId: 'r-2',
  address: '192.0.2.1',
  payload: Buffer.from('{}'),
})

/** Has `webhook listen` print one request. */
async function listen(cwd: string, env: Readonly<Record<string, string>>): Promise<void> {
  const stop = new AbortController()
  const { promise, resolve } = Promise.withResolvers<string>()
  const ended = runCommand(['webhook', 'listen', '--port', '0', '--json'], {
    cwd,
    env,
    stop: stop.signal,
    onError: (line) => resolve(/http:\S+(?=,)/.exec(line)?.[0] ?? ''),
  })
  await fetch(await promise, { method: 'POST', body: 'no webhook' })
  stop.abort()
  expect((await ended).stdout).toContain('"Verified":false')
}

it('docs/json.md has every command, and what each prints with --json', async () => {
  const { commands } = readJsonShapes()
  expect([...commands.keys()]).toEqual(commandNames)
  await runAll()
  expect(commandNames.filter((name) => !compared.has(name))).toEqual(['serve'])
})

it('docs/json.md defines only what openapi.yaml does not', () => {
  expect(definedTwice).toEqual([])
})

it('every type in docs/json.md can be compared', () => {
  for (const type of readJsonShapes().types.keys()) expect(shapeViolation(type, 7)).toContain(type)
})

it('output that is not in docs/json.md fails a test', async () => {
  const seen = (args: string, stdout: string, status = 0, stderr = '') =>
    printedViolation(args.split(' '), { status, stdout, stderr })
  const version = { version: '1.0.0', node: '26.13.0', commit: null, form: 'package' }
  expect(await seen('version --json', `${JSON.stringify(version)}\n`)).toBeUndefined()
  expect(await seen('version --json', `${JSON.stringify({ ...version, more: 1 })}\n`)).toContain('more')
  expect(await seen('version --json', `${JSON.stringify({ ...version, node: undefined })}\n`)).toContain('node')
  expect(await seen('version --json', `${JSON.stringify(version)}\nand more\n`)).toContain('2 lines')
  expect(await seen('version --json', '', 1, 'no JSON\n')).toContain('Fault')
  expect(await seen('delivery export', '{"Status":1}\n')).toContain('ReceiptID')
})
