import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { openDatabase } from '#src/store/sqlite/database.ts'
import { finish } from '#src/store/sqlite/nouns.ts'
import { emptyLog, wipePages, withSecureDelete } from '#src/store/sqlite/wiping.ts'
import { createStoreWith } from '../support/store/create-store.ts'
import { tempFolder } from '../support/temp-folder.ts'

const TEXT = 'MARKER '

/** Inserts row `$1` with so much text `$2`, and overwrites the text of all rows in place. */
const TABLES = {
  delivery: [
    'INSERT INTO delivery (position, receipt, customer, status, received_at, payload) VALUES ($1, randomblob(16), 1, 1, 1, CAST($2 AS BLOB))',
    `UPDATE delivery SET payload = CAST(replace(CAST(payload AS TEXT), 'M', '-') AS BLOB)`,
    'position',
  ],
  refused_delivery: [
    `INSERT INTO refused_delivery (number, refusal, at, customer_id, key_id, error_code, message, request_id, address, payload)
     VALUES ($1, hex(randomblob(16)), 1, 'c', 'k', 'X', '', 'r', '::1', CAST($2 AS BLOB))`,
    `UPDATE refused_delivery SET payload = CAST(replace(CAST(payload AS TEXT), 'M', '-') AS BLOB)`,
    'number',
  ],
  webhook_attempt: [
    `INSERT INTO webhook_attempt (number, webhook, at, milliseconds, response) VALUES ($1, 'w', 1, 1, $2)`,
    `UPDATE webhook_attempt SET response = replace(response, 'M', '-')`,
    'number',
  ],
} as const

/** Few rows stay, so that SQLite merges pages, which moves rows and leaves copies of them behind. */
const row = fc.record({
  repeats: fc.oneof({ weight: 30, arbitrary: fc.integer({ min: 1, max: 60 }) }, fc.constantFrom(500, 2000)),
  stays: fc.integer({ min: 1, max: 6 }),
})
const cases = Object.entries(TABLES) as [keyof typeof TABLES, (typeof TABLES)[keyof typeof TABLES]][]

it.each(cases)(
  'wiping pages leaves no copies of rows of %s, however few rows a call looks at',
  async (table, sql) => {
    const [INSERT, OVERWRITE, key] = sql
    const url = (path: string) => `sqlite:${path}`
    await fc.assert(
      fc.asyncProperty(
        fc.array(row, { minLength: 200, maxLength: 500 }),
        fc.integer({ min: 1, max: 40 }),
        async (rows, look) => {
          const path = join(tempFolder(), 'wiped.db')
          await createStoreWith(url(path), [])
          const database = openDatabase(path)
          database.transaction(() => {
            for (const [n, { repeats }] of rows.entries()) database.run(INSERT, n + 1, TEXT.repeat(repeats))
          })
          for (const [n, { stays }] of rows.entries())
            if (stays > 1) database.transaction(() => database.run(`DELETE FROM ${table} WHERE ${key} = $1`, n + 1))
          withSecureDelete(database, () => database.run(OVERWRITE))
          for (let after: number | null = 0; after !== null; ) {
            const at: number = after
            after = withSecureDelete(database, () => finish(database, wipePages(table, at, look)))
          }
          database.script('PRAGMA incremental_vacuum')
          expect(finish(database, emptyLog())).toBe(true)
          expect(readFileSync(path).includes(TEXT)).toBe(false)
          database.close()
        },
      ),
      { numRuns: 30, endOnFailure: true },
    )
  },
  60_000,
)
