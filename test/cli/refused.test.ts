import { expect, it } from 'vitest'
import { type Message, message } from '#src/lib/messages/message.ts'
import { newId, systemRandom } from '#src/lib/random.ts'
import { ROW_BYTES } from '#src/lib/refused-limits.ts'
import { runCommand } from '../support/processes/command.ts'
import { commandStage } from '../support/processes/command-stage.ts'
import { createStore } from '../support/store/create-store.ts'
import { apiKey, auditEvent, customer } from '../support/store/store-rows.ts'
import { tempFolder } from '../support/temp-folder.ts'

const DAY = 86_400_000

async function makeStore() {
  const stage = commandStage()
  const [one, other] = [customer({ name: '', email: 'a@b.co' }), customer({ name: '', email: 'x@y.co' })]
  const key = apiKey(one.id, { label: 'erp' })
  const now = Date.now()
  const body = (days: number, customerId: string, payload: Buffer, more = {}) => ({
    refusalId: newId(now - days * DAY, systemRandom),
    at: now - days * DAY,
    customerId,
    keyId: key.id,
    orderId: `PO-${days}`,
    errorCode: 'INVALID_REQUEST',
    message: 'The request is not valid.',
    requestId: `r-${days}`,
    address: '192.0.2.1',
    payload,
    ...more,
  })
  const bodies = [
    body(3, one.id, Buffer.from('{\n\t"Status":\u001b[2J7}\r\n')),
    body(2, other.id, Buffer.from([0xff, 0x00])),
    body(1, one.id, Buffer.from('{}'), { orderId: null }),
  ]
  await stage.withStore(async (store) => {
    for (const each of [one, other]) await store.customers.insert(each)
    await store.apiKeys.insert(key)
    await store.refused.keep(bodies, { maxBytes: 1e6, notKept: 4 })
  })
  const run = (...args: string[]) => stage.run('delivery', 'refused', ...args)
  const json = (...args: string[]) => stage.json('delivery', 'refused', ...args)
  return { one, key, bodies, run, json }
}

const { one, key, bodies, run, json } = await makeStore()
const [oldest] = bodies as [(typeof bodies)[number]]
const [first, second, third] = bodies.map(({ refusalId }) => refusalId) as [string, string, string]

it('teslim delivery refused list shows what was refused, newest last, and how much was kept', async () => {
  const all = await json('list')
  expect(all).toEqual({
    Refusals: [
      {
        RefusalID: first,
        RefusedAt: new Date(oldest.at).toISOString(),
        ErrorCode: 'INVALID_REQUEST',
        Message: 'The request is not valid.',
        OrderID: 'PO-3',
        RequestID: 'r-3',
        KeyID: key.id,
        KeyLabel: 'erp',
        CustomerID: one.id,
        Address: '192.0.2.1',
        PayloadBytes: 20,
      },
      expect.objectContaining({ RefusalID: second }),
      expect.not.objectContaining({ OrderID: expect.anything() }),
    ],
    Bodies: 3,
    Bytes: 24 + 3 * ROW_BYTES,
    Removed: 0,
    NotKept: 4,
  })
  const ids = async (...filter: string[]) =>
    (await json('list', ...filter)).Refusals.map(({ RefusalID }: { RefusalID: string }) => RefusalID)
  expect(await ids('--customer', 'a@b.co')).toEqual([first, third])
  expect(await ids('--order', 'PO-2')).toEqual([second])
  expect(await ids('--request', 'r-3')).toEqual([first])
  expect(await ids('--from', '36h')).toEqual([third])
  expect(await ids('--to', '60h')).toEqual([first])
  expect(await ids('--limit', '1')).toEqual([third])
  const { stdout } = await run('list')
  expect(stdout).toMatch(/^time \(UTC\) +order +error code +bytes +customer +refusal +message\n/)
  expect(stdout).toContain(
    '3 bodies are kept, in 1560 bytes. So far 0 bodies went to make room for younger ones, and 4 were not kept because too many came at once.\n',
  )
  expect((await run('list', '--order', 'none')).stdout).toMatch(/^No refusal matches\.\n3 bodies/)
})

it('teslim delivery refused list says that no bodies are kept because the setting is off, and how to turn it on', async () => {
  const cwd = tempFolder()
  await createStore(cwd)
  const list = (env = {}, ...args: string[]) => runCommand(['delivery', 'refused', 'list', ...args], { cwd, env })
  expect((await list()).stdout).toMatch(
    /^No refusal matches\.\nNo refused bodies are kept: TESLIM_KEEP_REFUSED is off\. .*set TESLIM_KEEP_REFUSED=known .*restart/,
  )
  expect((await list({ TESLIM_KEEP_REFUSED: 'known' })).stdout).toMatch(/^No refusal matches\.\n0 bodies/)
  expect(JSON.parse((await list({}, '--json')).stdout)).toEqual({
    Refusals: [],
    Bodies: 0,
    Bytes: 0,
    Removed: 0,
    NotKept: 0,
  })
})

it('teslim delivery refused show prints everything, also by a unique prefix', async () => {
  const { status, stdout, stderr } = await run('show', first.slice(0, 12).toUpperCase())
  expect([status, stderr]).toEqual([0, ''])
  expect(stdout).toBe(
    [
      first,
      `  refused     ${new Date(oldest.at).toISOString().slice(0, 19).replace('T', ' ')} UTC`,
      '  customer    a@b.co',
      `  key         ${key.id} (erp)`,
      '  order       PO-3',
      '  error       INVALID_REQUEST',
      '  message     The request is not valid.',
      '  request     r-3',
      '  address     192.0.2.1',
      '  body        20 bytes',
      '',
      '{\n\t"Status":\\u001b[2J7}\r\n',
      '',
    ].join('\n'),
  )
  expect(await json('show', third)).toMatchObject({ RefusalID: third, PayloadBytes: 2, PayloadBase64: 'e30=' })
  expect((await run('show', second)).stdout).toContain('\nThe body is not UTF-8: --payload prints its bytes.\n')
})

it('teslim delivery refused show --payload prints the exact bytes', async () => {
  expect((await run('show', first, '--payload')).stdout).toBe('{\n\t"Status":\u001b[2J7}\r\n')
  expect((await json('show', second)).PayloadBase64).toBe('/wA=')
})

it('both say why an API key is not valid, and show what has no body', async () => {
  const { cwd, text, withStore } = commandStage()
  const shop = customer({ email: 'shop@example.com' })
  const refuse = (n: number, customerId: string | null, reason: Message) =>
    auditEvent({
      at: n,
      action: 'delivery.refused',
      customerId,
      refusalId: `00000000-000${n}-7000-8000-000000000000`,
      keyId: customerId && 'KEY',
      address: '192.0.2.1',
      details: { errorCode: 'API_KEY_INVALID', reason, ...(customerId && { message: message('API_KEY_INVALID') }) },
    })
  await withStore(async ({ customers, audit }) => {
    await customers.insert(shop)
    await audit.append([
      refuse(1, shop.id, message('KEY_IS_REVOKED', { key: 'KEY' })),
      refuse(2, null, message('KEY_UNKNOWN')),
    ])
  })
  const run = (...args: string[]) => text('delivery', 'refused', ...args)
  const why = ['The API key is not valid. (key KEY is revoked)', 'The API key is not valid. (unknown key)']
  for (const text of why) expect(await run('list')).toContain(text)
  expect(JSON.parse(await run('list', '--json')).Refusals).toMatchObject([
    { Reason: 'key KEY is revoked', ReasonCode: 'KEY_IS_REVOKED', ReasonValues: { key: 'KEY' }, CustomerID: shop.id },
    { Message: 'The API key is not valid.', Reason: 'unknown key', ReasonCode: 'KEY_UNKNOWN', CustomerID: null },
  ])
  const shown = await run('show', '00000000-0001')
  expect(shown).toContain('  message     The API key is not valid.\n  reason      key KEY is revoked\n')
  expect(shown).toMatch(/ {2}body {8}not kept\n$/)
  const bytes = await runCommand(['delivery', 'refused', 'show', '00000000-0002', '--payload'], { cwd })
  expect(bytes).toMatchObject({ status: 1, stdout: '', stderr: expect.stringContaining('Its body was not kept.') })
})

it.each([
  [['show', 'none'], 1, 'There is no refused delivery "none".'],
  [['show'], 2, 'REFUSALID is missing'],
  [['list', '--limit', '0'], 2, '--limit takes'],
  [['list', '--customer', 'n@n.n'], 1, 'There is no customer "n@n.n".'],
  [['lst'], 2, 'there is no command "delivery refused lst", did you mean "delivery refused list"?'],
])('delivery refused %j says what is wrong', async (args, expected, line) => {
  const { status, stdout, stderr } = await run(...args)
  expect([status, stdout, stderr]).toEqual([expected, '', expect.stringContaining(line)])
})
