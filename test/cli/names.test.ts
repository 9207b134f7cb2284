import { describe, expect, it } from 'vitest'
import { holding } from '../support/faults/remains.ts'
import { runCommand } from '../support/processes/command.ts'
import { commandStage, printedBy } from '../support/processes/command-stage.ts'
import { createStore } from '../support/store/create-store.ts'
import { apiKey, auditEvent, delivery } from '../support/store/store-rows.ts'
import { storesOfRun } from '../support/store/stores.ts'
import { tempFolder } from '../support/temp-folder.ts'

const [EMAIL, NAME, NOTE] = ['s17@kitap.example', 'Kitap A.Ş.', 'Vergi no. 12345\ncalls back after ten']
const SHOWN = `${NAME} <${EMAIL}>`

async function makeStore() {
  const cwd = tempFolder()
  await createStore(cwd)
  const { json, withStore } = commandStage({}, cwd)
  const run = (...args: string[]) => runCommand(args, { cwd, columns: 80 })
  const text = async (...args: string[]) => printedBy(await run(...args))
  return { cwd, run, json, text, withStore }
}

it('name and note are set, shown, changed and removed, and the audit log has neither', async () => {
  const { json, text } = await makeStore()
  const added = await json('customer', 'add', '--email', EMAIL, '--name', NAME, '--note', NOTE)
  expect(added).toMatchObject({ email: EMAIL, name: NAME, note: NOTE, disabledReason: '' })
  expect(await text('customer', 'show', EMAIL)).toMatch(
    /^Kitap A\.Ş\. <s17@kitap\.example> {2}supplier only\n(.*\n)+ {2}note {8}Vergi no\. 12345\n {14}calls back after ten\n$/,
  )
  expect(await json('customer', 'set', EMAIL, '--name', 'New')).toEqual({ ...added, name: 'New' })
  expect(await json('customer', 'set', EMAIL, '--note', 'new')).toEqual({ ...added, name: 'New', note: 'new' })
  const bare = await json('customer', 'set', EMAIL, '--name', '', '--note', '')
  expect(bare).toEqual({ ...added, name: '', note: '' })
  expect(await text('customer', 'show', EMAIL)).not.toContain('note')
  const events: { details: object }[] = await json('audit', 'list', '--action', 'customer.set')
  expect(events.map(({ details }) => details)).toEqual([
    { name: 'changed' },
    { note: 'changed' },
    { name: 'changed', note: 'changed' },
  ])
})

it('the reason of a disable is shown until the customer is enabled, and the audit log does not have it', async () => {
  const { json, text } = await makeStore()
  const added = await json('customer', 'add', '--email', EMAIL, '--name', NAME)
  const disabled = { ...added, enabled: false, disabledReason: 'sends test orders' }
  expect(await json('customer', 'disable', EMAIL, '--reason', 'sends test orders')).toEqual(disabled)
  expect(await text('customer', 'show', EMAIL)).toContain('\n  disabled    sends test orders\n')
  expect(await json('customer', 'list')).toEqual([disabled])
  expect(await json('customer', 'enable', EMAIL)).toEqual(added)
  await json('customer', 'disable', EMAIL)
  const events: { details: object }[] = await json('audit', 'list', '--action', 'customer.disable')
  expect(events.map(({ details }) => details)).toEqual([{ disabledReason: 'changed' }, {}])
})

it('customers are listed by a part of name or note, but named by e-mail address or id only', async () => {
  const { json, text, run } = await makeStore()
  await json('customer', 'add', '--email', EMAIL, '--name', NAME, '--note', NOTE)
  await json('customer', 'add', '--email', 'other@example.com')
  expect(await json('customer', 'list', '--search', 'VERGI')).toMatchObject([{ email: EMAIL }])
  expect(await text('customer', 'list', '--search', 'nobody')).toBe('No customer matches.\n')
  const { status, stderr } = await run('customer', 'show', NAME)
  expect([status, stderr]).toEqual([1, `teslim customer show: There is no customer "${NAME}".\n`])
})

it('a name stands before the e-mail address wherever a customer is named, in 80 columns', async () => {
  const { cwd, json, text, withStore } = await makeStore()
  const { id } = await json('customer', 'add', '--email', EMAIL, '--name', NAME, '--allow', '*')
  const key = apiKey(id, { expiresAt: Date.now() + 86_400_000, createdAt: Date.now() })
  const sent = delivery(id, { orderId: 'PO-1' })
  const refusalId = '01a1fd40-d173-7140-8bbb-00000000000f'
  const refused = { refusalId, at: Date.now(), customerId: id, keyId: key.id, orderId: 'PO-2', address: '::1' }
  const why = { errorCode: 'PRODUCT_NOT_AUTHORIZED', message: 'no', requestId: 'r', payload: Buffer.from('{}') }
  await withStore(async (store) => {
    await store.apiKeys.insert(key)
    await store.deliveries.deliver(sent)
    await store.audit.append([auditEvent({ customerId: id })])
    await store.refused.keep([{ ...refused, ...why }], { maxBytes: 1e6, notKept: 0 })
  })
  await json('webhook', 'add', '--url', 'https://backoffice.example/hook', '--customer', EMAIL)
  const [endpoint] = await json('webhook', 'list')
  for (const args of [
    ['customer', 'list'],
    ['customer', 'show', id],
    ['key', 'list'],
    ['delivery', 'list'],
    ['delivery', 'show', sent.receiptId],
    ['order', 'list'],
    ['order', 'show', 'PO-1'],
    ['delivery', 'refused', 'list'],
    ['delivery', 'refused', 'show', refusalId],
    ['audit', 'list'],
    ['webhook', 'list'],
    ['webhook', 'show', endpoint.EndpointID],
    ['token', 'revoke', '--customer', EMAIL],
  ]) {
    const shown = await text(...args)
    expect(shown.replaceAll(/\s+/g, ' '), args.join(' ')).toContain(SHOWN)
    const [list = ''] = args.at(-1) === 'list' ? shown.split('\n\n') : []
    expect(Math.max(...list.split('\n').map((line) => line.length)), args.join(' ')).toBeLessThanOrEqual(80)
  }
  expect((await runCommand(['doctor'], { cwd })).stdout).toContain(`${key.id} of ${SHOWN} on `)
})

describe.each(storesOfRun())('names on %s', (_kind, emptyStore) => {
  it.each(['--erase', undefined])(
    'customer remove, with the option %s, leaves nothing of name, note and reason',
    async (erase) => {
      const { url, text: run, withStore } = commandStage(await emptyStore())
      await withStore(async () => undefined)
      const words = { name: 'NAME-of-a-person', note: 'NOTE-of-a-person', reason: 'REASON-of-a-person' }
      const held = async () =>
        (await Promise.all(Object.values(words).map((text) => holding(url, text)))).map((places) => places.length > 0)
      await run('customer', 'add', '--email', 'other@example.com', '--name', 'stays', '--note', 'n'.repeat(1000))
      await run('customer', 'add', '--email', EMAIL, '--name', words.name, '--note', words.note)
      await run('customer', 'set', EMAIL, '--note', `${words.note} ${'and more '.repeat(90)}`)
      await run('customer', 'disable', EMAIL, '--reason', words.reason)
      expect(await held()).toEqual([true, true, true])
      await run('customer', 'remove', EMAIL, ...(erase === undefined ? [] : [erase]))
      expect(await held()).toEqual([false, false, false])
    },
  )
})
