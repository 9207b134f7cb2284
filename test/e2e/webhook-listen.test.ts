import { once } from 'node:events'
import { expect, it, onTestFinished } from 'vitest'
import { ask } from '../support/app/ask.ts'
import { WEBHOOK_ALLOW } from '../support/network/allowed-ports.ts'
import { keyOfSupplier } from '../support/processes/ledger.ts'
import { runPrepared } from '../support/processes/prepared-commands.ts'
import { serve, startProcess } from '../support/processes/process.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { until } from '../support/until.ts'

/** An allowed port that tests rarely get. */
const PORTS = [24_511, 24_510, 24_509]

it('webhook listen shows a delivery that a server sends it, nothing hostile as it is, and ends with Ctrl-C', async () => {
  const where = { cwd: tempFolder(), env: { NODE_ENV: 'production', ...WEBHOOK_ALLOW } }
  const key = await keyOfSupplier(where)
  const server = await serve(where)
  const add = async (port: number) => {
    const added = await runPrepared(['webhook', 'add', '--url', `http://127.0.0.1:${port}/hook`, '--json'], where)
    return JSON.parse(added.stdout).Secret as string
  }
  const listen = async () => {
    for (const port of PORTS) {
      const secret = await add(port)
      const child = startProcess(['webhook', 'listen', '--port', String(port), '--secret-stdin'], where)
      onTestFinished(() => void child.kill('SIGKILL'))
      child.stdin.end(`${secret}\n`)
      let printed = ''
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (printed += chunk))
      await until('it listens or has ended', () => printed.includes('listening') || child.exitCode !== null)
      if (child.exitCode === null) return { child, printed: () => printed, url: `http://127.0.0.1:${port}/hook` }
    }
    throw new Error('every port is in use')
  }
  const { child, printed, url } = await listen()
  const body = '{"OrderID":"PO-1","Status":2}'
  const sent = await ask(`${server.url}/Purchase/update`, { method: 'POST', headers: { ApiKey: key }, body })
  const { ReceiptID } = JSON.parse(sent.body).data
  await until('the delivery is shown', () => printed().includes(ReceiptID))
  const hostile = 'a\u001b[2Jb\u202e\u009b\r\n2026-11-24 10:00:00 UTC verified; answered 204'
  expect(await ask(url, { method: 'POST', headers: {}, body: hostile })).toMatchObject({ status: 401 })
  await until('it is shown', () => printed().includes('missing header'))
  child.kill('SIGINT')
  expect(await once(child, 'close')).toEqual([0, null])

  const lines = printed().split('\n')
  const verified = lines.findIndex((line) => /^[\d: -]{19} UTC verified; answered 204$/.test(line))
  expect(lines.slice(verified + 1, verified + 4)).toEqual([
    '  | POST /hook',
    `  | webhook-id: ${ReceiptID}`,
    expect.stringContaining('"Payload":{"OrderID":"PO-1","Status":2}}}'),
  ])
  const refused = lines.findIndex((line) => line.includes('refused, missing header'))
  expect(lines.slice(refused + 1, refused + 5)).toEqual([
    '  | POST /hook',
    '  | webhook-id: none',
    String.raw`  | a\u001b[2Jb\u202e\u009b`,
    '  | 2026-11-24 10:00:00 UTC verified; answered 204',
  ])
  expect(lines.slice(-2)).toEqual(['1 request verified, 1 refused', ''])
}, 60_000)
