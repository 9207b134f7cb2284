import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { loadConfig } from '#src/config/load-config.ts'
import { fileIdentity } from '#src/store/backup/backup-files.ts'
import { backupStore } from '#src/store/backup/backup-store.ts'
import { lastBackupAt, lockForBackup } from '#src/store/sqlite/backup-record.ts'
import { runCommand } from '../support/processes/command.ts'
import { commandStage } from '../support/processes/command-stage.ts'
import { createStore } from '../support/store/create-store.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { until } from '../support/until.ts'

async function newStore() {
  const cwd = tempFolder()
  await createStore(cwd)
  const teslim = (...args: string[]) => runCommand(args, { cwd })
  return { cwd, teslim, store: join(cwd, 'data/teslim.db') }
}

const shared = await newStore()
symlinkSync('data', join(shared.cwd, 'link'))

it('a backup is one file for its owner only, with its SHA-256 beside it, and the store says when it began', async () => {
  const { cwd, teslim } = await newStore()
  const lastBackupAt = () => commandStage({}, cwd).withStore((store) => store.lastBackupAt())
  expect(await lastBackupAt()).toBeUndefined()
  const before = Date.now()
  const { status, stdout } = await teslim('backup', 'b.db', '--json')
  expect(status).toBe(0)
  const { path, at, bytes, sha256, ...rest } = JSON.parse(stdout)
  expect(rest).toEqual({ removed: [] })
  expect(path).toBe(join(cwd, 'b.db'))
  expect(Date.parse(at)).toBeGreaterThanOrEqual(before)
  expect(await lastBackupAt()).toBe(Date.parse(at))
  expect(createHash('sha256').update(readFileSync(path)).digest('hex')).toBe(sha256)
  expect(spawnSync('sha256sum', ['-c', 'b.db.sha256'], { cwd, encoding: 'utf8' }).stdout).toBe('b.db: OK\n')
  for (const file of [path, `${path}.sha256`]) expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(statSync(path).size).toBe(bytes)
  const copy = new DatabaseSync(path)
  expect(copy.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'delete' })
  copy.close()
  expect(readdirSync(cwd).toSorted()).toEqual(['b.db', 'b.db.sha256', 'data'])
})

/** A name that the system refuses, as it refuses a folder of root to the user of the service. */
const UNSEEN = 'x'.repeat(300)

it.each([
  ['a file that is there', 'taken.db', /taken\.db is there already/],
  ['a folder', '.', /is a folder: name a file in it/],
  ['a folder that is not there', 'none/b.db', /there is no folder .*none: create it first/],
  ['the store', 'data/teslim.db', /teslim\.db belongs to the store itself/],
  ['the log of the store', 'data/teslim.db-wal', /teslim\.db-wal belongs to the store itself/],
  ['a journal of the store', 'data/teslim.db-journal', /teslim\.db-journal belongs to the store itself/],
  ['the copy of a restore', 'data/teslim.db.restoring', /teslim\.db\.restoring belongs to the store itself/],
  ['the lock by another path', 'link/teslim.db-server', /teslim\.db-server belongs to the store itself/],
  ['a place that cannot be written to', '/proc/b.db', /cannot be opened|ENOENT|EACCES/],
  ['a place that cannot be looked at', UNSEEN, /cannot be opened: ENAMETOOLONG/],
])('a backup to %s says so, and changes nothing', async (_, target, message) => {
  const { cwd, teslim, store } = shared
  writeFileSync(join(cwd, 'taken.db'), 'mine')
  const before = readFileSync(store)
  const { status, stdout, stderr } = await teslim('backup', target)
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
  expect(stderr).toMatch(message)
  expect(stderr.split('\n')).toHaveLength(2)
  expect(readFileSync(join(cwd, 'taken.db'), 'utf8')).toBe('mine')
  expect(readFileSync(store)).toEqual(before)
  expect(readdirSync(cwd).filter((name) => name.endsWith('.partial'))).toEqual([])
})

it.each<[string, string, number]>([
  ['restore', '--json', 1],
  ['restore', '--check', 1],
  ['backup', '--every=1h', 2],
])('%s %s of a place that cannot be looked at says so', async (command, option, status) => {
  const done = await shared.teslim(command, option, UNSEEN)
  expect({ status: done.status, lines: done.stderr.split('\n').length }).toEqual({ status, lines: 2 })
  expect(done.stderr).toMatch(/cannot be (?:opened|read): ENAMETOOLONG/)
})

it.each(['a.partial', 'a.sha256', 'a.sha256.partial'])(
  'a store called %s is not removed by a backup called a',
  async (name) => {
    const cwd = tempFolder()
    const env = { DATABASE_URL: `sqlite:${name}` }
    await runCommand(['migrate'], { cwd, env })
    symlinkSync('.', join(cwd, 'here'))
    const before = readFileSync(join(cwd, name))
    for (const target of ['a', 'here/a'])
      expect(await runCommand(['backup', target], { cwd, env })).toMatchObject({
        status: 1,
        stderr: expect.stringContaining(`${name} belongs to the store itself`),
      })
    expect(readFileSync(join(cwd, name))).toEqual(before)
  },
)

it('what an earlier backup left when it was killed is replaced', async () => {
  const { cwd, teslim } = await newStore()
  for (const name of ['k.db.partial', 'k.db.partial-journal', 'k.db.sha256', 'k.db.sha256.partial'])
    writeFileSync(join(cwd, name), 'half a copy')
  expect(await teslim('backup', 'k.db')).toMatchObject({ status: 0 })
  expect(readdirSync(cwd).toSorted()).toEqual(['data', 'k.db', 'k.db.sha256'])
  expect(await teslim('restore', '--check', 'k.db')).toMatchObject({ status: 0 })
})

it('two backups of one store are not made at once', async () => {
  const { cwd, teslim, store } = await newStore()
  writeFileSync(join(cwd, 'b.db.partial'), 'of the other one')
  const other = lockForBackup(store)
  expect(await teslim('backup', 'b.db')).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('Another process is making a backup of'),
  })
  expect(readFileSync(join(cwd, 'b.db.partial'), 'utf8')).toBe('of the other one')
  other.release()
  expect(await teslim('backup', 'b.db')).toMatchObject({ status: 0 })
})

it('a damaged store is not copied without a word', async () => {
  const { cwd, teslim, store } = await newStore()
  const bytes = readFileSync(store)
  // The type of a page in the middle.
  for (let page = 4; page < 10; page++) bytes[page * 4096] = 99
  writeFileSync(store, bytes)
  const { status, stderr } = await teslim('backup', 'b.db')
  expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringContaining('damaged') })
  expect(readdirSync(cwd)).toEqual(['data'])
})

it('on PostgreSQL the command to use is named, without the password', async () => {
  const env = { DATABASE_URL: 'postgres://teslim:hunter22@db.internal:5433/teslim?sslmode=require' }
  const { status, stdout, stderr } = await runCommand(['backup', 'b.dump'], { cwd: tempFolder(), env })
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
  expect(stderr).toContain(
    "pg_dump --format=custom --file=b.dump --dbname='postgres://teslim@db.internal:5433/teslim?sslmode=require'",
  )
  expect(stderr).not.toContain('hunter22')
})

it.each([
  [['b.db', '--keep', '3'], '--keep needs --every'],
  [['.', '--every', 'soon'], '--every takes a time such as 6h, 30m or 1d, not "soon"'],
  [['.', '--every', '0'], '--every takes a time'],
  [['.', '--every', '6h', '--keep', '0'], '--keep takes a whole number from 1'],
  [['none', '--every', '6h'], 'there is no folder'],
  [[], 'PATH is missing'],
])('teslim backup %j is misuse', async (args, message) => {
  const { status, stderr } = await shared.teslim('backup', ...args)
  expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringContaining(message) })
})

it('scheduled backups are made until told to stop, the oldest are removed and nothing else, and a failed one is tried again', async () => {
  const { cwd } = await newStore()
  const folder = join(cwd, 'backups')
  mkdirSync(folder)
  writeFileSync(join(folder, 'teslim-20200101T000000Z.db'), 'not made by this schedule')
  const stop = new AbortController()
  const errors: string[] = []
  const schedule = runCommand(['backup', 'backups', '--every', '1s', '--keep', '1', '--json'], {
    cwd,
    stop: stop.signal,
    onError: (line) => errors.push(line),
  })
  const found = (where = folder) =>
    readdirSync(where).filter((name) => name.endsWith('.db') && name !== 'teslim-20200101T000000Z.db')
  await until('the first one', () => found().length === 1)
  const [first = ''] = found()
  expect(first).toMatch(/^teslim-\d{8}T\d{6}Z\.db$/)
  await until('the second one instead', () => found().length === 1 && found()[0] !== first)
  renameSync(folder, join(cwd, 'away'))
  await until('one has failed', () => errors.length > 0)
  mkdirSync(folder)
  await until('the third one', () => found().length === 1)
  stop.abort()
  const { status, stdout, stderr } = await schedule
  expect(status).toBe(0)
  expect(stderr).toMatch(
    /^\S+Z teslim backup: Nothing was copied: there is no folder .*backups: create it first\. Trying again in 1 s\.\n/,
  )
  const lines = stdout.trim().split('\n')
  expect(lines.length).toBeGreaterThanOrEqual(3)
  expect(JSON.parse(lines[1] ?? '')).toMatchObject({ removed: [join(folder, first)] })
  expect(readdirSync(join(cwd, 'away')).toSorted()).toContain('teslim-20200101T000000Z.db')
  expect(existsSync(join(cwd, 'away', `${first}.sha256`))).toBe(false)
})

it("Litestream's tables, and what SQLite knows of all, make a file neither foreign nor damaged, even one that is empty otherwise", async () => {
  const cwd = tempFolder()
  mkdirSync(join(cwd, 'data'))
  const path = join(cwd, 'data/teslim.db')
  const file = new DatabaseSync(path)
  file.exec(`
    CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER);
    CREATE TABLE _litestream_lock (id INTEGER);
    INSERT INTO _litestream_seq VALUES (1, 7)`)
  file.close()
  expect(await runCommand(['migrate'], { cwd })).toMatchObject({ status: 0, stderr: '' })
  const others = new DatabaseSync(path)
  others.exec('CREATE INDEX of_others ON _litestream_seq (seq); ANALYZE')
  others.close()
  const { stdout } = await runCommand(['doctor', '--json'], { cwd })
  const { checks } = JSON.parse(stdout) as { checks: { name: string; status: string }[] }
  expect(checks.filter(({ name }) => ['store', 'integrity'].includes(name)).map(({ status }) => status)).toEqual([
    'ok',
    'ok',
  ])
  expect(await runCommand(['backup', 'b.db'], { cwd })).toMatchObject({ status: 0 })
  expect(await runCommand(['restore', 'b.db'], { cwd })).toMatchObject({ status: 0 })
  const restored = new DatabaseSync(path)
  expect(restored.prepare('SELECT seq FROM _litestream_seq').get()).toEqual({ seq: 7 })
  restored.close()
  expect(existsSync(`${path}-wal`)).toBe(false)
})

it('what cannot be published leaves nothing', async () => {
  const { cwd, teslim } = await newStore()
  mkdirSync(join(cwd, 'b.db.sha256'))
  const { status, stderr } = await teslim('backup', 'b.db')
  expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringContaining('Nothing is left of it.') })
  expect(readdirSync(cwd).toSorted()).toEqual(['b.db.sha256', 'data'])
})

/** Makes a scheduled backup; resolves to those that it removed. */
async function schedule(store: string, to: string, now: number, keep: number): Promise<readonly string[]> {
  const { config: from } = loadConfig({ DATABASE_URL: `sqlite:${store}` })
  const stop = new AbortController().signal
  return (await backupStore({ from, to, now, keep, stop, sign: undefined, onProgress: () => undefined })).removed
}

it('the schedule removes what it made first, also after the clock was set back and by another path of its folder', async () => {
  const { cwd, store } = await newStore()
  mkdirSync(join(cwd, 'folder'))
  symlinkSync('folder', join(cwd, 'link'))
  const made = (to: string, now: number) => schedule(store, join(cwd, to), now, 2)
  expect(await made('folder/1.db', 9_000)).toEqual([])
  expect(await made('folder/2.db', 1_000)).toEqual([])
  expect(await lastBackupAt(store)).toBe(1_000)
  expect(await made('link/3.db', 2_000)).toEqual([join(cwd, 'folder/1.db')])
  expect(await made('folder/4.db', 3_000)).toEqual([join(cwd, 'folder/2.db')])
  expect(await made('link/5.db', 4_000)).toEqual([join(cwd, 'link/3.db')])
})

it('a scheduled backup that was killed when it was complete counts as one, and goes when there are newer ones', async () => {
  const { cwd, store } = await newStore()
  const killed = { path: join(cwd, '1.db'), at: 1_000, scheduled: true }
  writeFileSync(`${killed.path}.partial`, 'complete')
  const record = lockForBackup(store)
  record.begin({ ...killed, file: fileIdentity(`${killed.path}.partial`) ?? '' })
  record.release()
  renameSync(`${killed.path}.partial`, killed.path)
  expect(await schedule(store, join(cwd, '2.db'), 2_000, 1)).toEqual([killed.path])
  expect(await schedule(store, join(cwd, '3.db'), 3_000, 1)).toEqual([join(cwd, '2.db')])
  expect(await lastBackupAt(store)).toBe(3_000)
})
