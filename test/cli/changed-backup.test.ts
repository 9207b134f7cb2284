import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { loadConfig } from '#src/config/load-config.ts'
import { openStore } from '#src/store/open-store.ts'
import { runCommand } from '../support/processes/command.ts'
import { teslim } from '../support/processes/process.ts'
import { tempFolder } from '../support/temp-folder.ts'

const SECRET = 'a secret that is long enough to be one'
const OTHER = 'another secret, long enough as well, too'

/** A store with one customer, and a backup of it, made under a secret or without one. */
async function newStore(TESLIM_SECRET = '') {
  const cwd = tempFolder()
  const teslim = (args: readonly string[], more: Record<string, string> = {}) =>
    runCommand(args, { cwd, env: { TESLIM_SECRET, ...more } })
  await teslim(['customer', 'add', '--email', 'a@b.co', '--api', '--allow', 'A', '--generate'])
  await teslim(['backup', 'b.db'])
  return { cwd, backup: join(cwd, 'b.db'), store: join(cwd, 'data/teslim.db'), teslim }
}

const at = (path: string) => loadConfig({ DATABASE_URL: `sqlite:${path}` }).config

function change(path: string, sql: string, { defensive = true } = {}): void {
  const database = new DatabaseSync(path, { defensive } as object)
  database.exec(sql)
  database.close()
}

/** Writes the SHA-256 that belongs to a backup, as whoever changes the backup can. */
function digestAgain(path: string): void {
  writeFileSync(`${path}.sha256`, `${createHash('sha256').update(readFileSync(path)).digest('hex')}  b.db\n`)
}

const REWRITE = (name: string, from: string, to: string) =>
  `PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, '${from}', '${to}') WHERE name = '${name}'`

describe('a backup or a store with code that teslim does not make is damaged:', () => {
  it.each([
    [
      'a trigger that enables customers again',
      'CREATE TRIGGER stay AFTER UPDATE OF enabled ON customer BEGIN UPDATE customer SET enabled = 1; END',
      'it has the trigger "stay", which teslim does not make',
    ],
    ['a view', 'CREATE VIEW v AS SELECT * FROM customer', 'it has the view "v", which teslim does not make'],
    ['a virtual table', 'CREATE VIRTUAL TABLE v USING fts5(a)', 'it has the table "v", which teslim does not make'],
    [
      'a virtual table that is written to look like another one',
      `CREATE TABLE v (a); ${REWRITE('v', 'CREATE TABLE v (a)', 'CREATE /**/ VIRTUAL TABLE v USING fts5(a)')}`,
      'it has the table "v", which teslim does not make',
    ],
    [
      'a table of ours with another rule',
      REWRITE('customer', 'CREATE TABLE customer (', 'CREATE TABLE customer ( -- changed'),
      'its table "customer" is not the one that teslim makes',
    ],
    ['a missing index', 'DROP INDEX delivery_receipt', /it lacks the index "delivery_receipt"/],
    [
      'an index that refuses the second event of a kind',
      `CREATE UNIQUE INDEX zz ON audit_event (action) WHERE action = 'customer.disable'`,
      'it has the index "zz" on its table "audit_event", which teslim does not make',
    ],
    [
      'an index whose expression may fail, on a table in other letters',
      'CREATE INDEX w ON API_KEY (1 + 0 * revoked_at)',
      'it has the index "w" on its table "api_key", which teslim does not make',
    ],
    [
      'a table that holds on to rows of ours',
      'CREATE TABLE v (a INTEGER REFERENCES Customer (number))',
      'it has the table "v" on its table "customer", which teslim does not make',
    ],
  ])('%s', async (_, sql, why) => {
    const { backup, store, teslim } = await newStore()
    change(backup, sql, { defensive: false })
    digestAgain(backup)
    const before = readFileSync(store)
    for (const args of [
      ['restore', 'b.db', '--check'],
      ['restore', 'b.db'],
    ]) {
      const { status, stdout, stderr } = await teslim(args)
      expect([status, stdout]).toEqual([1, ''])
      expect(stderr).toMatch(/^teslim restore: Nothing was changed: .*b\.db is damaged: /)
      expect(stderr).toMatch(why)
    }
    expect(readFileSync(store)).toEqual(before)
    change(store, sql, { defensive: false })
    const { status, stdout } = await teslim(['doctor', '--json'])
    const { checks } = JSON.parse(stdout) as { checks: { name: string; status: string; message: string }[] }
    const found = checks.find(({ name }) => name === 'integrity')
    expect([status, found]).toEqual([
      1,
      expect.objectContaining({ status: 'failed', message: expect.stringMatching(why) }),
    ])
    const file = readFileSync(store)
    const serving = openStore(at(store), 0, { toServe: true })
    await expect(serving).rejects.toMatchObject({ code: 'STORE_FOREIGN', message: expect.stringMatching(why) })
    expect(readFileSync(store)).toEqual(file)
  })

  it('but not with tables of others and their indexes, as Litestream and reports have them', async () => {
    const { backup, store, teslim } = await newStore()
    for (const path of [backup, store])
      change(
        path,
        `CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER);
         CREATE TABLE report (of INTEGER, customer INTEGER REFERENCES report (of), UNIQUE (of));
         CREATE UNIQUE INDEX audit_event_own ON report (of + customer)`,
      )
    digestAgain(backup)
    expect(await teslim(['restore', 'b.db', '--check'])).toMatchObject({ status: 0 })
    expect(await teslim(['doctor'])).toMatchObject({ status: 0 })
    const { store: served } = await openStore(at(store), 0, { toServe: true })
    await served.close()
  })
})

describe('a backup that was made under TESLIM_SECRET', () => {
  it('is proved to be so by its HMAC when it is checked and restored, also under the former secret', async () => {
    const { teslim } = await newStore(SECRET)
    const proved = expect.stringContaining('Its HMAC proves that it was made under the secret of this service.')
    expect(await teslim(['restore', 'b.db', '--check'])).toMatchObject({ status: 0, stdout: proved })
    expect(JSON.parse((await teslim(['restore', 'b.db', '--check', '--json'])).stdout).hmacCompared).toBe(true)
    const later = { TESLIM_SECRET: OTHER, TESLIM_SECRET_OLD: SECRET }
    expect(await teslim(['restore', 'b.db'], later)).toMatchObject({ status: 0, stdout: proved })
  })

  it('is not restored after somebody changed it and the SHA-256 beside it', async () => {
    const { backup, store, teslim } = await newStore(SECRET)
    change(backup, `UPDATE customer SET scope = 'operator'`)
    digestAgain(backup)
    const before = readFileSync(store)
    for (const args of [
      ['restore', 'b.db'],
      ['restore', 'b.db', '--check'],
    ])
      expect(await teslim(args)).toMatchObject({
        status: 1,
        stdout: '',
        stderr: expect.stringMatching(/Nothing was changed: the HMAC in \S+b\.db\.hmac is not that of the backup/),
      })
    expect(readFileSync(store)).toEqual(before)
    // Without the SHA-256, too.
    rmSync(`${backup}.sha256`)
    expect((await teslim(['restore', 'b.db'])).status).toBe(1)
  })

  it('is restored without its HMAC only if told so, and with no secret, and the command says that nothing is proved', async () => {
    const { backup, store, teslim } = await newStore(SECRET)
    const unchecked = await teslim(['restore', 'b.db', '--check'], { TESLIM_SECRET: '' })
    expect(unchecked.stdout).toContain('Its HMAC was not compared, as TESLIM_SECRET is not set.')
    rmSync(`${backup}.hmac`)
    const before = readFileSync(store)
    const why = `Nothing was changed: there is no b.db.hmac beside ${backup}, so nothing proves that it was made under TESLIM_SECRET`
    for (const secrets of [{}, { TESLIM_SECRET: '', TESLIM_SECRET_OLD: SECRET }])
      for (const args of [
        ['restore', 'b.db'],
        ['restore', 'b.db', '--check'],
      ]) {
        const { status, stdout, stderr } = await teslim([...args, '--json'], secrets)
        expect([status, stdout]).toEqual([2, ''])
        expect(JSON.parse(stderr)).toEqual({ errorCode: 'BACKUP_UNPROVED', message: expect.stringContaining(why) })
        expect(JSON.parse(stderr).message).toContain('--unproved')
      }
    expect(readFileSync(store)).toEqual(before)
    const said = 'Nothing proves that it was made under TESLIM_SECRET: there is no b.db.hmac beside it.'
    for (const args of [['--check'], []])
      expect(await teslim(['restore', 'b.db', '--unproved', ...args])).toMatchObject({
        status: 0,
        stdout: expect.stringContaining(said),
      })
    expect(JSON.parse((await teslim(['restore', 'b.db', '--unproved', '--json'])).stdout)).toMatchObject({
      digestCompared: true,
      hmacCompared: false,
    })
    // It takes no backup whose HMAC is wrong, and stands beside no other store.
    writeFileSync(`${backup}.hmac`, `${'0'.repeat(64)}  b.db\n`)
    expect((await teslim(['restore', 'b.db', '--unproved'])).status).toBe(1)
    expect((await teslim(['restore', '--recovered', '--unproved'])).status).toBe(2)
  })

  it('goes with its HMAC when there are newer ones, and one without a secret has none', async () => {
    const { cwd, teslim } = await newStore(SECRET)
    expect(readFileSync(join(cwd, 'b.db.hmac'), 'utf8')).toMatch(/^[0-9a-f]{64} {2}b\.db\n$/)
    await teslim(['backup', 'c.db'], { TESLIM_SECRET: '' })
    expect(existsSync(join(cwd, 'c.db.hmac'))).toBe(false)
    // Of an earlier backup under this name, whose file somebody removed.
    writeFileSync(join(cwd, 'd.db.hmac'), 'old')
    await teslim(['backup', 'd.db'], { TESLIM_SECRET: '' })
    expect(existsSync(join(cwd, 'd.db.hmac'))).toBe(false)
  })
})

it.each(['.sha256', '.hmac', ''])(
  'what is a FIFO instead of b.db%s is refused, and waited for by nobody',
  async (end) => {
    const { cwd } = await newStore(SECRET)
    rmSync(join(cwd, `b.db${end}`))
    execFileSync('mkfifo', [join(cwd, `b.db${end}`)])
    for (const args of [
      ['restore', 'b.db', '--check'],
      ['restore', 'b.db'],
    ]) {
      // A process, which can be killed: a thread that opens a FIFO cannot be told to stop.
      const { status, stderr } = await teslim(args, {
        cwd,
        env: { TESLIM_SECRET: SECRET },
        through: ['timeout', '-s', 'KILL', '20'],
      })
      expect([status, stderr]).toEqual([1, expect.stringMatching(/b\.db\S* (does not begin with|is not a file)/)])
    }
  },
  90_000,
)
