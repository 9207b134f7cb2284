import { join } from 'node:path'
import { expect, inject, it } from 'vitest'
import { loadConfig } from '#src/config/load-config.ts'
import { openStore } from '#src/store/open-store.ts'
import { newDatabase, runSql } from '../support/postgres/postgres-server.ts'
import { runCommand } from '../support/processes/command.ts'
import { consoleSession, customer, isSessionThere } from '../support/store/store-rows.ts'
import { storesOfRun } from '../support/store/stores.ts'
import { tempFolder } from '../support/temp-folder.ts'

const openAt = async (DATABASE_URL: string) => (await openStore(loadConfig({ DATABASE_URL }).config, 0)).store

/** Adds a customer with a session; returns whether a store has it. */
async function begin(url: string) {
  const one = customer()
  const session = consoleSession(one.id)
  const store = await openAt(url)
  await store.customers.insert(one)
  const { tokenGeneration } = one
  expect(await store.consoleSessions.begin(session, { tokenGeneration, formers: [], most: 10, now: 0 })).toBe(true)
  await store.close()
  return async (where = url) => {
    const store = await openAt(where)
    const isThere = await isSessionThere(store.consoleSessions, session.id)
    const known = await store.customers.findById(one.id)
    await store.close()
    expect(known).toEqual(one)
    return isThere
  }
}

/** A store in its own folder, and the commands on it. */
function newStore() {
  const cwd = tempFolder()
  const url = `sqlite:${join(cwd, 'teslim.db')}`
  const run = async (...args: string[]) => {
    const { status, stderr } = await runCommand(args, { cwd, env: { DATABASE_URL: url } })
    expect({ args, status, stderr }).toEqual({ args, status: 0, stderr: '' })
  }
  return { url, run }
}

it('a restored store has none of the sessions of its backup', async () => {
  const { url, run } = newStore()
  const isThere = await begin(url)
  await run('backup', 'b.db')
  expect(await isThere()).toBe(true)
  await run('restore', 'b.db')
  expect(await isThere()).toBe(false)
})

it.each(storesOfRun())('a store on %s that was set back by other means has no session', async (_kind, emptyStore) => {
  const { DATABASE_URL } = await emptyStore()
  const isThere = await begin(DATABASE_URL)
  const { status } = await runCommand(['restore', '--recovered'], { cwd: tempFolder(), env: { DATABASE_URL } })
  expect([status, await isThere()]).toEqual([0, false])
})

it('a copy has no session, also where one was begun on an earlier copy, and neither has a store that is taken back', async () => {
  const { url, run } = newStore()
  const isThere = await begin(url)
  const to = await newDatabase(inject('postgresUrl'))
  await run('copy', '--to', to, '--while-serving')
  expect([await isThere(), await isThere(to)]).toEqual([true, false])
  await runSql(
    to,
    `INSERT INTO console_session SELECT 's', '\\x00', number, 'TR', 1, 9, 9, '', '' FROM customer LIMIT 1`,
  )
  await run('copy', '--to', to)
  expect(await runSql(to, 'SELECT id FROM console_session')).toEqual([])
  await run('copy', '--take-back')
  expect(await isThere()).toBe(false)
})
