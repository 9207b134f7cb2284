import { chmodSync, chownSync, copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { canMount, refusedStart, smallDisk } from '../../support/faults/faults.ts'
import { identity } from '../../support/postgres/postgres-server.ts'
import { runPrepared } from '../../support/processes/prepared-commands.ts'
import { serve } from '../../support/processes/process.ts'
import { tempFolder } from '../../support/temp-folder.ts'

const mountable = canMount()
const env = { NODE_ENV: 'production' }
const original = await migrated()

async function migrated(): Promise<string> {
  const cwd = tempFolder()
  await runPrepared(['migrate'], { cwd, env })
  return join(cwd, 'data/teslim.db')
}

/** In production a server does not even try to make a store. */
const envFor = (store: boolean): Record<string, string> => (store ? env : {})

/** With a store or without, of the account that the server runs as: modes do not hold root back. */
function folderOfNobody(store: boolean) {
  const cwd = tempFolder()
  chmodSync(cwd, 0o755)
  const folder = join(cwd, 'data')
  const path = join(folder, 'teslim.db')
  mkdirSync(folder)
  if (store) copyFileSync(original, path)
  const { uid = -1, gid = -1 } = identity
  if (store) chownSync(path, uid, gid)
  chownSync(folder, uid, gid)
  return { options: { cwd, env: envFor(store), identity }, folder, path }
}

const CLEAR = /read-?only|permission|EROFS|EACCES|not writable|may not write/i

describe('a start ends with status 1 and one line that names the file and says that it cannot be written, in', () => {
  it.each([
    ['a read-only folder without a store', false],
    ['a read-only folder with a store', true],
  ])('%s', async (_, store) => {
    const { options, folder, path } = folderOfNobody(store)
    chmodSync(folder, 0o500)
    const line = await refusedStart(options)
    chmodSync(folder, 0o700)
    expect(line).toContain(path)
    expect(line).toMatch(CLEAR)
    // It goes on once the folder is as it should be.
    await serve(options)
  })

  it.each([
    ['that its account may only read', 0o400],
    ['that its account may not read', 0o000],
  ])('a folder with a file %s', async (_, mode) => {
    const { options, path } = folderOfNobody(true)
    chmodSync(path, mode)
    const line = await refusedStart(options)
    expect(line).toContain(path)
    expect(line).toMatch(CLEAR)
  })

  it.runIf(mountable).each([
    ['without a store', false],
    ['with a store', true],
  ])('a file system mounted read-only, %s', async (_, store) => {
    const disk = smallDisk(1)
    const path = join(disk.path, 'teslim.db')
    if (store) copyFileSync(original, path)
    disk.readOnly()
    const line = await refusedStart({ cwd: tempFolder(), env: { ...envFor(store), DATABASE_URL: `sqlite:${path}` } })
    expect(line).toContain(path)
    expect(line).toMatch(CLEAR)
  })
})

it.runIf(mountable)('a file system cannot be made read-only beneath a server', async () => {
  const disk = smallDisk(1)
  await serve({ cwd: tempFolder(), env: { DATABASE_URL: `sqlite:${disk.path}/teslim.db` } })
  expect(() => disk.readOnly()).toThrow(/busy/)
})
