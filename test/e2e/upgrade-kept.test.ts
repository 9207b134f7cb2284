import { join } from 'node:path'
import { expect, inject, it } from 'vitest'
import { fetch } from '../support/app/checked-fetch.ts'
import { newDatabase } from '../support/postgres/postgres-server.ts'
import { makeSupplier, SUPPLIER_EMAIL } from '../support/processes/ledger.ts'
import { NEXT_MIGRATION, nextVersion } from '../support/processes/next-version.ts'
import { type RunOptions, serve, teslim } from '../support/processes/process.ts'
import { tempFolder } from '../support/temp-folder.ts'

interface Answer {
  readonly Token: string
  readonly ReceiptID: string
  readonly NextCursor: string
}

const add = (type: string) => `-- Runs with programs from 0001 on.\nALTER TABLE customer ADD COLUMN later ${type}`
const program = nextVersion({ sqlite: add('INTEGER'), postgres: add('bigint') })

/** Asks a server of this or of the next version as a supplier and as an API customer. */
function asking(url: string, key: string) {
  const ask = async (path: string, init: RequestInit = {}) => {
    const answer = await fetch(`${url}${path}`, init)
    return { status: answer.status, data: ((await answer.json()) as { data: Answer }).data }
  }
  const headers = { ApiKey: key, 'Idempotency-Key': 'PO-1-1' }
  return {
    login: (Password: string) =>
      ask('/Login/Customer/Api/Verify', {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ Email: SUPPLIER_EMAIL, Password }),
      }),
    deliver: () => ask('/Purchase/update', { method: 'POST', headers, body: '{"OrderID":"PO-1","Status":1}' }),
    read: (path: string, token: string) => ask(path, { headers: { Authorization: `Bearer ${token}` } }),
  }
}

it.each(['a file', 'PostgreSQL'])(
  'what this version gave out works with the next one: keys, passwords, tokens, cursors, receipts, in %s',
  { timeout: 120_000 },
  async (kind) => {
    const env = kind === 'a file' ? {} : { DATABASE_URL: await newDatabase(inject('postgresUrl')) }
    const where: RunOptions = { cwd: tempFolder(), env: { NODE_ENV: 'production', ...env } }
    const { key, password } = await makeSupplier(where, ['--api', '--allow', '*'])
    const now = await serve(where)
    const before = asking(now.url, key)
    const token = (await before.login(password)).data.Token
    const receipt = (await before.deliver()).data
    const { NextCursor } = (await before.read('/Purchase/feed', token)).data
    expect(receipt).toMatchObject({ Duplicate: false })
    now.child.kill('SIGTERM')
    await now.ended
    const after = asking((await serve({ ...where, program })).url, key)
    expect(await after.deliver()).toEqual({ status: 200, data: { ...receipt, Duplicate: true } })
    expect((await after.login(password)).status).toBe(200)
    expect(await after.read(`/Purchase/feed?after=${NextCursor}`, token)).toMatchObject({
      status: 200,
      data: { Deliveries: [], NextCursor: expect.any(String) },
    })
    expect((await after.read(`/Purchase/delivery/${receipt.ReceiptID}`, token)).status).toBe(200)
  },
)

it('a backup of this version is restored by the next one, which brings it to its schema', {
  timeout: 60_000,
}, async () => {
  const where: RunOptions = { cwd: tempFolder(), env: { NODE_ENV: 'production' } }
  const { key } = await makeSupplier(where)
  const path = join(where.cwd, 'backup.db')
  expect(await teslim(['backup', path], where)).toMatchObject({ status: 0 })
  const newer = { ...where, program }
  const { status, stdout } = await teslim(['restore', path, '--check', '--json'], newer)
  expect([status, JSON.parse(stdout).pending]).toEqual([0, [NEXT_MIGRATION]])
  expect(await teslim(['restore', path], newer)).toMatchObject({ status: 0 })
  expect((await asking((await serve(newer)).url, key).deliver()).status).toBe(200)
})
