import { existsSync, renameSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { copyPages } from '#src/store/backup/copy-pages.ts'
import { tempFolder } from '../support/temp-folder.ts'

const MANY_BYTES = 'randomblob(10000000)'

it('what is committed while pages are copied is in no copy, and moving it out of the log is not left to the server', async () => {
  const folder = tempFolder()
  const path = join(folder, 'store.db')
  const link = join(folder, 'link.db')
  symlinkSync(path, link)
  const server = new DatabaseSync(path)
  server.exec(`PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE row (bytes);
    INSERT INTO row VALUES (${MANY_BYTES}); PRAGMA wal_checkpoint(TRUNCATE)`)
  // A log that was emptied keeps its size.
  for (const [round, from] of [path, path, link].entries()) {
    const { size } = statSync(path)
    let commits = 0
    await copyPages(from, join(folder, `copy-${round}.db`), (done, all) => {
      expect(done).toBeLessThanOrEqual(all)
      if (commits < 2) server.exec(`INSERT INTO row VALUES (${MANY_BYTES})`)
      commits++
    })
    expect(commits).toBeGreaterThan(1)
    expect(statSync(path).size).toBeGreaterThan(size + 19_000_000)
    const copy = new DatabaseSync(join(folder, `copy-${round}.db`))
    expect(copy.prepare('SELECT count(*) AS rows FROM row').get()).toEqual({ rows: 1 + 2 * round })
    copy.close()
  }
  expect(server.prepare('SELECT count(*) AS rows FROM row').get()).toEqual({ rows: 7 })
  server.close()
})

it('a store that is renamed meanwhile is not created again', async () => {
  const folder = tempFolder()
  const path = join(folder, 'store.db')
  const store = new DatabaseSync(path)
  store.exec(`PRAGMA journal_mode = WAL; CREATE TABLE row (bytes); INSERT INTO row VALUES (${MANY_BYTES})`)
  await copyPages(path, join(folder, 'copy.db'), () => {
    if (existsSync(path)) renameSync(path, join(folder, 'away.db'))
  })
  expect(existsSync(path)).toBe(false)
  store.close()
})
