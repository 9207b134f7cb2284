import { createHash } from 'node:crypto'
import {
  closeSync,
  copyFileSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { fetch } from '../../support/app/checked-fetch.ts'
import { refusedStart } from '../../support/faults/faults.ts'
import { deliver, keyOfSupplier, missingFrom } from '../../support/processes/ledger.ts'
import { runPrepared } from '../../support/processes/prepared-commands.ts'
import { serve } from '../../support/processes/process.ts'
import { randomBelow, randomBytes } from '../../support/random.ts'
import { tempFolder } from '../../support/temp-folder.ts'

const env = { NODE_ENV: 'production' }
const original = await killedUnderLoad()

/** A store whose server was killed: much of it is in the log. */
async function killedUnderLoad() {
  const cwd = tempFolder()
  const key = await keyOfSupplier({ cwd, env })
  const server = await serve({ cwd, env })
  const load = deliver({ url: server.url, key })
  await load.more(300)
  server.child.kill('SIGKILL')
  await load.stop()
  const path = join(cwd, 'data/teslim.db')
  const whole = join(cwd, 'whole.db')
  for (const end of ['', '-wal']) copyFileSync(path + end, whole + end)
  // Opened and closed, so that it is one file without a log.
  expect(missingFrom(whole, load.acknowledged)).toEqual([])
  return { path, whole, key, acknowledged: load.acknowledged }
}

function newFolder() {
  const cwd = tempFolder()
  mkdirSync(join(cwd, 'data'))
  return { cwd, path: join(cwd, 'data/teslim.db') }
}

function overwrite(path: string, at: number, bytes: number): void {
  const file = openSync(path, 'r+')
  writeSync(file, randomBytes(bytes), 0, bytes, at)
  closeSync(file)
}

/** Everything in a folder, by its content. */
const digests = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => statSync(join(folder, name)).isFile())
    .map(
      (name) =>
        `${name} ${createHash('sha256')
          .update(readFileSync(join(folder, name)))
          .digest('hex')}`,
    )

const sql = (path: string, text: string): void => {
  const database = new DatabaseSync(path)
  database.exec(text)
  database.close()
}

const NOTES = 'CREATE TABLE notes (text); INSERT INTO notes VALUES (1)'

describe('a start ends with status 1 and one line that names the file, and changes nothing, when in its place is', () => {
  it.each<[string, RegExp, (path: string) => void]>([
    [
      'a store whose header was overwritten',
      /not a database/,
      (path) => {
        copyFileSync(original.whole, path)
        overwrite(path, 0, 100)
      },
    ],
    ['half a store', /malformed/, (path) => writeFileSync(path, readFileSync(original.whole).subarray(0, 100_000))],
    ['a text file', /not a database/, (path) => writeFileSync(path, 'Orders of November\n'.repeat(1000))],
    ['a short text file', /not a database/, (path) => writeFileSync(path, 'x\n')],
    ['a folder', /folder|directory|unable to open/, (path) => mkdirSync(path)],
    [
      'the database of another application',
      /another application|not a (teslim )?store|no store/,
      (path) => sql(path, NOTES),
    ],
    [
      'the database of another application with a table of the same name',
      /another application|not a (teslim )?store|no store/,
      (path) => sql(path, `PRAGMA journal_mode = WAL; CREATE TABLE customer (name); ${NOTES}`),
    ],
  ])('%s', async (_, why, make) => {
    const { cwd, path } = newFolder()
    make(path)
    const before = digests(cwd)
    const line = await refusedStart({ cwd, env })
    expect(line).toContain(path)
    expect(line).toMatch(why)
    expect(digests(cwd)).toEqual(before)
  })

  it('a store of a newer version', async () => {
    const { cwd, path } = newFolder()
    copyFileSync(original.whole, path)
    sql(path, `INSERT INTO schema_migration VALUES (9999, 'future', '', 0, 9999, '9.0.0')`)
    const before = digests(cwd)
    const line = await refusedStart({ cwd, env })
    expect(line).toMatch(
      /^teslim serve: The store is at schema 9999, teslim [\d.]+ knows schemas up to \d+: run teslim 9\.0\.0 /,
    )
    expect(digests(cwd)).toEqual(before)
  })
})

it('an empty file becomes a store, as a first start that was killed may have left it', async () => {
  const { cwd, path } = newFolder()
  writeFileSync(path, '')
  const server = await serve({ cwd })
  expect((await fetch(`${server.url}/readyz`)).status).toBe(200)
})

it('a store with a damaged page never gives wrong data: what needs the page fails with one line, doctor names it, and the rest goes on', async () => {
  const { cwd, path } = newFolder()
  copyFileSync(original.whole, path)
  const database = new DatabaseSync(path)
  const pages = `SELECT pageno FROM dbstat WHERE name = 'delivery' AND pagetype = 'leaf' ORDER BY path LIMIT 1 OFFSET 3`
  const page = database.prepare(pages).get()?.pageno as number
  database.close()
  overwrite(path, (page - 1) * 4096, 4096)

  const exported = await runPrepared(['delivery', 'export'], { cwd, env })
  expect(exported).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/^teslim delivery export: .*malformed.*\n$/),
  })
  const doctor = await runPrepared(['doctor'], { cwd, env })
  expect(doctor.status).toBe(1)
  expect(doctor.stdout).toMatch(
    new RegExp(`^failed +integrity +the file is damaged, restore a backup: .* page ${page}:`, 'm'),
  )

  const server = await serve({ cwd, env })
  const load = deliver({ url: server.url, key: original.key })
  await load.more(50)
  server.child.kill('SIGKILL')
  await load.stop()
  const stored = new DatabaseSync(path)
  const find = stored.prepare(`SELECT payload FROM delivery WHERE receipt = unhex(?, '-')`)
  for (const { receipt, body } of load.acknowledged) {
    expect(Buffer.from(find.get(receipt)?.payload as Uint8Array).toString()).toBe(body)
  }
  stored.close()
})

/** Where each whole commit of a log ends. */
function endsOfCommits(log: Buffer): number[] {
  const ends = [0]
  for (let end = 32 + 24 + 4096; end <= log.length; end += 24 + 4096) {
    const head = log.subarray(end - 24 - 4096)
    const current = head.subarray(8, 16).equals(log.subarray(16, 24))
    if (!current) break
    if (head.readUInt32BE(4) > 0) ends.push(end)
  }
  return ends
}

it('with a log that was cut off anywhere all that was committed before is there, and the server starts', async () => {
  const log = readFileSync(`${original.path}-wal`)
  const ends = endsOfCommits(log)
  expect(ends.length).toBeGreaterThan(30)
  const { cwd, path } = newFolder()
  const cut = (length: number): unknown => {
    copyFileSync(original.path, path)
    writeFileSync(`${path}-wal`, log.subarray(0, length))
    missingFrom(path, [])
    const database = new DatabaseSync(path)
    const found = database.prepare('SELECT count(*) AS rows, max(position) AS last FROM delivery').get()
    database.close()
    return found
  }
  for (let round = 0; round < 20; round++) {
    const length = randomBelow(log.length)
    const end = ends.findLast((end) => end <= length)
    expect({ length, found: cut(length) }).toEqual({ length, found: cut(end ?? 0) })
  }
  const length = Math.floor((log.length * 3) / 4)
  const { rows } = cut(length) as { rows: number }
  copyFileSync(original.path, path)
  writeFileSync(`${path}-wal`, log.subarray(0, length))
  const server = await serve({ cwd, env })
  const load = deliver({ url: server.url, key: original.key })
  await load.more(50)
  await load.stop()
  expect(rows).toBeGreaterThan(100)
  expect(missingFrom(path, [...original.acknowledged.slice(0, 100), ...load.acknowledged])).toEqual([])
})
