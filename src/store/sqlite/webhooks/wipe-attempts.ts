import { type Database, type Row, withSecureDelete } from '../database.ts'

const AT_ONCE = 500
/** More rows than SQLite's neighbouring pages hold, which it balances together. */
const NEIGHBOURS = 400

const BEFORE = 'SELECT number FROM webhook_attempt WHERE number <= $1 ORDER BY number DESC LIMIT 1 OFFSET $2'
const AFTER =
  'SELECT max(number) AS number FROM (SELECT number FROM webhook_attempt WHERE number > $1 ORDER BY number LIMIT $2)'
const ROWS = 'SELECT * FROM webhook_attempt WHERE number > $1 AND number <= $2 ORDER BY number'

const numberOf = (row: Row | undefined): number | undefined => (row?.number as number | null | undefined) ?? undefined

/**
 * Removes copies of attempts that were left behind in unused parts of pages, by deleting rows and inserting them again: a page whose rows
 * are all deleted is overwritten as a whole. Returns where to continue; null at the end. Run by the writer thread.
 */
export const wipeAttempts = (database: Database, after: number): number | null =>
  withSecureDelete(database, () => {
    const last = numberOf(database.get(AFTER, after, AT_ONCE))
    if (last === undefined) return null
    const from = numberOf(database.get(BEFORE, after, NEIGHBOURS)) ?? 0
    const end = numberOf(database.get(AFTER, last, NEIGHBOURS)) ?? last
    const rows = database.all(ROWS, from, end)
    const names = Object.keys(rows[0] ?? {})
    database.run('DELETE FROM webhook_attempt WHERE number > $1 AND number <= $2', from, end)
    const insert = `INSERT INTO webhook_attempt (${names}) VALUES (${names.map((_, index) => `$${index + 1}`)})`
    for (const row of rows) database.run(insert, ...names.map((name) => row[name] as number | string | null))
    return last
  })
