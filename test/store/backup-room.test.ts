import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { copyPages } from '#src/store/backup/copy-pages.ts'
import { logRoom, mostBytesOfLog } from '#src/store/sqlite/disk-use.ts'
import { canMount, smallDisk } from '../support/faults/faults.ts'
import { tempFolder } from '../support/temp-folder.ts'

const MEGABYTES = 1_000_000

it.runIf(canMount())('a backup ends before the log that grows meanwhile reaches its bound', async () => {
  const disk = smallDisk(160)
  mkdirSync(join(disk.path, 'data'))
  const path = join(disk.path, 'data/store.db')
  const server = new DatabaseSync(path)
  const insert = (megabytes: number): void =>
    server.exec(`INSERT INTO row VALUES (randomblob(${megabytes * MEGABYTES}))`)
  server.exec('PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE row (bytes)')
  insert(50)
  server.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  await expect(copyPages(path, join(tempFolder(), 'copy.db'), () => insert(8))).rejects.toThrow(
    /^Nothing was copied: the log of the store, which cannot be copied meanwhile, has \d+ MiB, and its disk has \d+ MiB left\.$/,
  )
  const room = logRoom(path)
  expect(room.wal).toBeLessThan(mostBytesOfLog(room))
  server.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  expect(logRoom(path).wal).toBe(0)
  server.close()
})
