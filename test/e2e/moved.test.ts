import { once } from 'node:events'
import { copyFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, inject, it, onTestFinished } from 'vitest'
import { fetch } from '../support/app/checked-fetch.ts'
import { newDatabase } from '../support/postgres/postgres-server.ts'
import { makeSupplier, SUPPLIER_EMAIL } from '../support/processes/ledger.ts'
import { runPrepared } from '../support/processes/prepared-commands.ts'
import { serve, startProcess, teslim } from '../support/processes/process.ts'
import { tempFolder } from '../support/temp-folder.ts'

const env = { NODE_ENV: 'production' }

/** A store with a supplier and some deliveries, and an empty database to which it can be moved. */
async function newStage() {
  const cwd = tempFolder()
  const { key, password } = await makeSupplier({ cwd, env }, ['--api', '--allow', '*'])
  const url = await newDatabase(inject('postgresUrl'))
  const run = (args: string[], more = {}) => runPrepared(args, { cwd, env: { ...env, ...more } })
  const json = async (args: string[], more = {}) => {
    const { status, stdout, stderr } = await run([...args, '--json'], more)
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    return JSON.parse(stdout)
  }
  const path = join(cwd, 'data/teslim.db')
  const place = url.replace(/^.*@/, '')
  /** What a command says that refuses the store. */
  const refused = new RegExp(
    `^teslim [a-z -]+: The store ${path} was moved to ${place} on \\d{4}-\\S+Z: set DATABASE_URL to that database\\. If this file is to be used again, run "teslim copy --take-back" first\\.\\n$`,
  )
  return { cwd, run, json, key, password, url, path, place, refused }
}

interface Server {
  readonly url: string
}

async function deliver({ url }: Server, key: string, ...orders: string[]): Promise<void> {
  for (const OrderID of orders) {
    const body = JSON.stringify({ OrderID, Status: 1 })
    const { status } = await fetch(`${url}/Purchase/update`, { method: 'POST', headers: { ApiKey: key }, body })
    expect(status).toBe(200)
  }
}

/** The orders and the cursor of a page of the feed. */
async function follow({ url }: Server, Password: string, query = '') {
  const login = await fetch(`${url}/Login/Customer/Api/Verify`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ Email: SUPPLIER_EMAIL, Password }),
  })
  const { Token } = ((await login.json()) as { data: { Token: string } }).data
  const answer = await fetch(`${url}/Purchase/feed?${query}`, { headers: { Authorization: `Bearer ${Token}` } })
  const { data, errorCode } = (await answer.json()) as {
    data: { Deliveries: { OrderID: string }[]; NextCursor: string } | null
    errorCode?: string
  }
  return { errorCode, orders: data?.Deliveries.map(({ OrderID }) => OrderID), cursor: data?.NextCursor }
}

describe('a store that was moved by teslim copy', () => {
  it('is refused by servers, backups and every command that changes something, in one sentence; it can be read', async () => {
    const { cwd, run, json, url, path, place, refused } = await newStage()
    const { complete, movedTo } = await json(['copy', '--to', url])
    expect({ complete, movedTo }).toEqual({ complete: true, movedTo: place })
    const bytes = readFileSync(path)
    expect(await teslim(['serve'], { cwd, env: { ...env, PORT: '0', TESLIM_OPS_PORT: '0' } })).toEqual({
      status: 2,
      stdout: '',
      stderr: expect.stringMatching(refused),
    })
    for (const args of [
      ['migrate'],
      ['backup', 'b.db'],
      ['backup', '.', '--every', '6h'],
      ['customer', 'add', '--email', 'late@b.co', '--generate'],
      ['customer', 'disable', SUPPLIER_EMAIL],
      ['customer', 'set-password', SUPPLIER_EMAIL, '--generate'],
      ['customer', 'remove', SUPPLIER_EMAIL, '--erase'],
      ['key', 'issue', '--customer', SUPPLIER_EMAIL],
      ['token', 'revoke', '--customer', SUPPLIER_EMAIL],
      ['signing-key', 'rotate'],
      ['signing-key', 'rewrap'],
      ['purge', '--older', '30d'],
      ['purge', '--rewrite'],
      ['webhook', 'add', '--url', 'https://a.example'],
      ['restore', '--recovered'],
      ['copy', '--to', 'postgres://u:geheim@127.0.0.1:1/another'],
      ['copy', '--to', 'postgres://u:geheim@127.0.0.1:1/another', '--while-serving'],
    ]) {
      const { status, stdout, stderr } = await run(args)
      expect([args, status, stdout]).toEqual([args, 2, ''])
      expect(stderr).toMatch(refused)
    }
    expect(await json(['customer', 'list'])).toMatchObject([{ email: SUPPLIER_EMAIL, enabled: true }])
    for (const args of [
      ['key', 'list'],
      ['order', 'list'],
      ['audit', 'list'],
      ['delivery', 'list'],
      ['webhook', 'list'],
    ])
      expect(await json(args)).toBeInstanceOf(Array)
    const doctor = await run(['doctor', '--json'])
    expect(doctor.status).toBe(1)
    expect(JSON.parse(doctor.stdout).checks).toContainEqual({
      name: 'store',
      status: 'failed',
      message: expect.stringMatching(new RegExp(`was moved to ${place} on .*copy --take-back`)),
      code: 'STORE_FAILED',
      values: expect.any(Object),
    })
    expect(readFileSync(path).equals(bytes)).toBe(true)
  })

  it('ends the scheduled backup with the next one that is due, which says so', async () => {
    const { cwd, json, url, refused } = await newStage()
    const child = startProcess(['backup', '.', '--every', '1s', '--json'], { cwd, env })
    onTestFinished(() => void child.kill('SIGKILL'))
    const ended = once(child, 'exit')
    const stderr = text(child.stderr)
    await once(child.stdout, 'data')
    await json(['copy', '--to', url])
    expect(await ended).toEqual([2, null])
    const { errorCode, message } = JSON.parse(await stderr)
    expect([errorCode, `teslim backup: ${message}\n`]).toEqual(['STORE_MOVED', expect.stringMatching(refused)])
  })

  it('can be copied to the same database again, and not once that is in use', async () => {
    const { json, run, url } = await newStage()
    for (const _ of [1, 2]) expect((await json(['copy', '--to', url])).complete).toBe(true)
    expect(await run(['customer', 'disable', SUPPLIER_EMAIL], { DATABASE_URL: url })).toMatchObject({ status: 0 })
    expect(await run(['copy', '--to', url])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('its table customer was changed since'),
    })
  })

  it('stays in use after copies while serving, which say so, also when nothing was missing', async () => {
    const { run, json, cwd, url } = await newStage()
    expect(await run(['copy', '--to', url, '--while-serving'])).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('The file is not marked as moved, and can still be used'),
    })
    expect(await json(['copy', '--to', url, '--while-serving'])).toMatchObject({ complete: true, movedTo: null })
    const server = await serve({ cwd, env })
    server.child.kill('SIGTERM')
    expect(await server.ended).toBe(0)
  })

  it('can be taken back, after which cursors that lie after the move are refused, as their positions are given again', async () => {
    const { cwd, run, json, url, path, place, key, password } = await newStage()
    let server = await serve({ cwd, env })
    await deliver(server, key, 'before-1', 'before-2')
    const { cursor: old } = await follow(server, password, 'limit=1')
    server.child.kill('SIGTERM')
    await server.ended
    await json(['copy', '--to', url])
    const there = await serve({ cwd, env: { ...env, DATABASE_URL: url } })
    await deliver(there, key, 'there-1', 'there-2')
    const { cursor: later, orders } = await follow(there, password)
    expect(orders).toEqual(['before-1', 'before-2', 'there-1', 'there-2'])
    there.child.kill('SIGTERM')
    await there.ended

    const { status, stdout, stderr } = await run(['copy', '--take-back'])
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout).toMatch(
      new RegExp(
        `^The store ${path} was moved to ${place} on .*what ${place} has stored or changed since is not in it\\..*\\n${path} is taken back\\.\\n$`,
      ),
    )
    expect(await json(['audit', 'list', '--action', 'store.'])).toMatchObject([
      { action: 'store.take-back', details: { from: place } },
    ])
    server = await serve({ cwd, env })
    await deliver(server, key, 'here-1', 'here-2', 'here-3')
    expect(await follow(server, password, `after=${later}`)).toMatchObject({ errorCode: 'CURSOR_INVALID' })
    expect(await follow(server, password, `after=${old}`)).toMatchObject({
      orders: ['before-2', 'here-1', 'here-2', 'here-3'],
    })
    expect(await run(['backup', 'b.db'])).toMatchObject({ status: 0 })
    server.child.kill('SIGTERM')
    await server.ended
    expect(await run(['copy', '--take-back'])).toEqual({
      status: 0,
      stdout: `${path} is not marked as moved: nothing was changed.\n`,
      stderr: '',
    })
    expect(await run(['copy', '--take-back', '--to', url])).toMatchObject({ status: 2 })
    expect(await run(['copy', '--take-back'], { DATABASE_URL: url })).toMatchObject({ status: 2 })
  })

  it('is replaced by a backup from before the move, which says so; a copy of its file is not restored', async () => {
    const { cwd, run, json, url, path, place } = await newStage()
    await json(['backup', 'before.db'])
    await json(['copy', '--to', url])
    copyFileSync(path, join(cwd, 'moved.db'))
    const { status, stdout, stderr } = await run(['restore', 'before.db', '--json'])
    expect(status).toBe(0)
    expect(stderr).toMatch(new RegExp(`^teslim: The store ${path} was moved to ${place} on .* is not in this backup`))
    expect(await run(['key', 'issue', '--customer', SUPPLIER_EMAIL])).toMatchObject({ status: 0 })
    const { kept } = JSON.parse(stdout)
    for (const file of [kept, join(cwd, 'moved.db')])
      for (const check of [['--check'], []])
        expect(await run(['restore', file, ...check])).toEqual({
          status: 1,
          stdout: '',
          stderr: expect.stringMatching(
            new RegExp(
              `: Nothing was changed: The store ${file} was moved to ${place} on .* teslim copy --take-back\\.\\n$`,
            ),
          ),
        })
    expect(await run(['copy', '--take-back'], { DATABASE_URL: `sqlite:${kept}` })).toMatchObject({ status: 0 })
    expect(await run(['restore', kept])).toMatchObject({ status: 0, stderr: '' })
  })
})
