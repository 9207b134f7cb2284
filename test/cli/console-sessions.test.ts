import { expect, inject, it } from 'vitest'
import { newDatabase, runSql } from '../support/postgres/postgres-server.ts'
import { commandStage } from '../support/processes/command-stage.ts'
import { consoleSession, customer, isSessionThere } from '../support/store/store-rows.ts'
import { storesOfRun } from '../support/store/stores.ts'

/** Adds a customer with a session; returns whether a store has it. */
async function begin(url: string) {
  const one = customer()
  const session = consoleSession(one.id)
  const { tokenGeneration } = one
  await at(url)(async ({ customers, consoleSessions }) => {
    await customers.insert(one)
    expect(await consoleSessions.begin(session, { tokenGeneration, formers: [], most: 10, now: 0 })).toBe(true)
  })
  return (where = url) =>
    at(where)(async ({ customers, consoleSessions }) => {
      expect(await customers.findById(one.id)).toEqual(one)
      return isSessionThere(consoleSessions, session.id)
    })
}

const at = (DATABASE_URL: string) => commandStage({ DATABASE_URL }).withStore

it('a restored store has none of the sessions of its backup', async () => {
  const { url, text: run } = commandStage()
  const isThere = await begin(url)
  await run('backup', 'b.db')
  expect(await isThere()).toBe(true)
  await run('restore', 'b.db')
  expect(await isThere()).toBe(false)
})

it.each(storesOfRun())('a store on %s that was set back by other means has no session', async (_kind, emptyStore) => {
  const { DATABASE_URL } = await emptyStore()
  const isThere = await begin(DATABASE_URL)
  await commandStage({ DATABASE_URL }).text('restore', '--recovered')
  expect(await isThere()).toBe(false)
})

it('a copy has no session, also where one was begun on an earlier copy, and neither has a store that is taken back', async () => {
  const { url, text: run } = commandStage()
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
