import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { hasHidden } from '#src/lib/printable.ts'
import { runCommand } from '../support/processes/command.ts'
import { commandStage } from '../support/processes/command-stage.ts'
import { createStore } from '../support/store/create-store.ts'
import { delivery } from '../support/store/store-rows.ts'
import { tempFolder } from '../support/temp-folder.ts'

let cwd = ''
beforeEach(async () => {
  cwd = tempFolder()
  await createStore(cwd)
})

const run = (args: string[], columns?: number) => runCommand(args, { cwd, ...(columns !== undefined && { columns }) })
const hides = (text: string): boolean => hasHidden(text.replaceAll('\n', ''))

const EMAIL = 'z\u202e\u200b@x.test'
const LABEL = 'erp\u2066\u009b2J'

/** A store of an earlier version, which let such names in. */
async function storeWithHiddenNames() {
  await run(['customer', 'add', '--email', 'z@x.test', '--generate'])
  await run(['key', 'issue', '--customer', 'z@x.test', '--label', 'erp'])
  const database = new DatabaseSync(join(cwd, 'data/teslim.db'))
  database.prepare('UPDATE customer SET email = ?').run(EMAIL)
  database.prepare('UPDATE api_key SET label = ?').run(LABEL)
  const { id } = database.prepare('SELECT id FROM api_key').get() as { id: string }
  database.close()
  return id
}

describe('names with characters that cannot be seen', () => {
  it.each([
    [['customer', 'add', '--generate', '--email', EMAIL], 'The e-mail address has characters that cannot be seen.'],
    [['customer', 'add', '--generate', '--email', 'a\u001b[2J@x.test'], 'is not an e-mail address'],
    [['customer', 'set', 'a@x.test', '--email', 'a\u2060@x.test'], 'has characters that cannot be seen'],
    [['key', 'issue', '--customer', 'a@x.test', '--label', LABEL], 'without control or invisible characters'],
    [['key', 'set', 'x', '--label', 'a\u200b'], 'without control or invisible characters'],
  ])('%j are refused when they are entered, and the refusal does not show them raw', async (args, why) => {
    const { status, stdout, stderr } = await run(args)
    expect([status, stdout, stderr]).toEqual([2, '', expect.stringContaining(why)])
    expect(hides(stderr)).toBe(false)
  })

  it('that are stored already are shown escaped, and can be replaced', async () => {
    const key = await storeWithHiddenNames()
    for (const args of [['customer', 'list'], ['customer', 'show', EMAIL], ['key', 'list'], ['doctor']]) {
      for (const columns of [undefined, 80]) {
        const { stdout, stderr } = await run(args, columns)
        expect(stdout, args.join(' ')).not.toBe('')
        expect([hides(stdout), hides(stderr)], args.join(' ')).toEqual([false, false])
      }
    }
    expect((await run(['customer', 'show', EMAIL])).stdout).toMatch(/^z\\u202e\\u200b@x\.test {2}/)
    expect((await run(['key', 'list'])).stdout).toContain(' erp\\u2066\\u009b2J ')
    expect((await run(['customer', 'set', EMAIL, '--email', 'z@x.test'])).status).toBe(0)
    expect((await run(['key', 'set', key, '--label', 'erp'])).stdout).toContain('(erp)')
  })

  it('are in JSON for programs as they are, and on a terminal escaped with the same meaning', async () => {
    await storeWithHiddenNames()
    for (const args of [
      ['customer', 'list', '--json'],
      ['key', 'list', '--json'],
    ]) {
      const [piped, shown] = [await run(args), await run(args, 80)]
      expect([hides(piped.stdout), hides(shown.stdout)]).toEqual([true, false])
      expect(JSON.parse(shown.stdout)).toEqual(JSON.parse(piped.stdout))
    }
  })
})

describe('what others sent never controls the terminal', () => {
  it('in orders, deliveries and payloads, with --json, in an export and in the bytes of a payload', async () => {
    await run(['customer', 'add', '--email', 'a@x.test', '--generate'])
    const payload = Buffer.from('{"OrderID":"PO\u009b2J\u202e","Status":1}')
    const sent = await commandStage({}, cwd).withStore(async ({ customers, deliveries }) => {
      const [customer] = await customers.list({ limit: 1 })
      const made = delivery(customer?.id ?? '', { orderId: 'PO\u009b2J\u202e', payload })
      await deliveries.deliver(made)
      return made
    })
    for (const args of [
      ['order', 'list'],
      ['order', 'list', '--json'],
      ['order', 'show', sent.orderId ?? ''],
      ['delivery', 'list', '--json'],
      ['delivery', 'export'],
      ['delivery', 'show', sent.receiptId],
      ['delivery', 'show', sent.receiptId, '--json'],
      ['delivery', 'show', sent.receiptId, '--payload'],
    ]) {
      const { status, stdout } = await run(args, 80)
      expect([status, hides(stdout)], args.join(' ')).toEqual([0, false])
      expect(stdout, args.join(' ')).toMatch(/2J/)
    }
    expect((await run(['delivery', 'show', sent.receiptId, '--payload'])).stdout, 'for a program').toBe(String(payload))
    const exported = (await run(['delivery', 'export'])).stdout
    expect(exported, 'for a program').toContain(String(payload))
    expect(JSON.parse((await run(['delivery', 'export'], 80)).stdout)).toEqual(JSON.parse(exported))
  })

  it('in the message of a server that refuses what teslim deliver sends', async () => {
    const server = createServer((request, response) => {
      request.resume()
      response.writeHead(403, { 'content-type': 'application/json' })
      response.end(
        JSON.stringify({ success: false, errorCode: 'X', message: 'no \u001b]0;x\u0007\u009b2J\nteslim: all is well' }),
      )
    }).listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await new Promise((resolve) => server.once('listening', resolve))
    writeFileSync(join(cwd, 'o.ndjson'), '{"Status":1}\n')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const env = { TESLIM_API_KEY: 'k' }
    for (const more of [{}, { columns: 80 }]) {
      const { status, stderr } = await runCommand(['deliver', 'o.ndjson', '--url', url], { cwd, env, ...more })
      expect([status, stderr]).toEqual([
        1,
        expect.stringContaining('no \\u001b]0;x\\u0007\\u009b2J teslim: all is well'),
      ])
    }
  })

  it('in the name that the holder of the lock has written', async () => {
    const lock = new DatabaseSync(join(cwd, 'data/teslim.db-server'))
    onTestFinished(() => lock.close())
    lock.exec('CREATE TABLE IF NOT EXISTS server (holder TEXT NOT NULL) STRICT; DELETE FROM server')
    lock.prepare('INSERT INTO server VALUES (?)').run('process \u001b[2J\u202e\nteslim: all is well')
    lock.exec('BEGIN IMMEDIATE')
    const { status, stderr } = await run(['copy', '--to', 'postgres://x@127.0.0.1/x'])
    expect([status, hides(stderr)]).toEqual([1, false])
    expect(stderr).toContain('in use by process \\u001b[2J\\u202e teslim: all is well')
  })
})
