import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { copyPages } from '#src/store/backup/copy-pages.ts'
import { tempFolder } from '../support/temp-folder.ts'

const MANY_BYTES = 'randomblob(10000000)'

it('what is committed while pages are copied is not in the copy, and its move out of the log is not left to the server', async () => {
  const folder = tempFolder()
  const path = join(folder, 'store.db')
  const server = new DatabaseSync(path)
  server.exec(`PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE row (bytes);
    INSERT INTO row VALUES (${MANY_BYTES}); PRAGMA wal_checkpoint(TRUNCATE)`)
  const { size } = statSync(path)
  let commits = 0
  await copyPages(path, join(folder, 'copy.db'), (done, all) => {
    expect(done).toBeLessThanOrEqual(all)
    if (commits < 2) server.exec(`INSERT INTO row VALUES (${MANY_BYTES})`)
    commits++
  })
  expect(commits).toBeGreaterThan(1)
  expect(statSync(path).size).toBeGreaterThan(size + 19_000_000)
  const copy = new DatabaseSync(join(folder, 'copy.db'))
  expect(copy.prepare('SELECT count(*) AS rows FROM row').get()).toEqual({ rows: 1 })
  expect(server.prepare('SELECT count(*) AS rows FROM row').get()).toEqual({ rows: 3 })
  copy.close()
  server.close()
})
