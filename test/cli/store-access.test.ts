import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, inject, it } from 'vitest'
import { migrationName } from '#src/store/migrate.ts'
import { knownMigrations } from '#src/store/sqlite/migrations.ts'
import { newDatabase, runSql } from '../support/postgres/postgres-server.ts'
import { runCommand } from '../support/processes/command.ts'
import { serve } from '../support/processes/process.ts'
import { storesOfRun } from '../support/store/stores.ts'
import { tempFolder } from '../support/temp-folder.ts'

const ALL = knownMigrations().map(migrationName)
const READING = [
  ['customer', 'list'],
  ['customer', 'show', 'a@b.co'],
  ['key', 'list'],
  ['order', 'list'],
  ['order', 'show', 'PO-1'],
  ['delivery', 'list'],
  ['delivery', 'show', 'x'],
  ['delivery', 'export'],
  ['audit', 'list'],
  ['signing-key', 'list'],
  ['webhook', 'list'],
  ['webhook', 'show', 'x'],
]
const CHANGING = [
  ['customer', 'set-password', 'a@b.co', '--generate'],
  ['customer', 'enable', 'a@b.co'],
  ['key', 'issue', '--customer', 'a@b.co'],
  ['key', 'revoke', 'x'],
  ['token', 'revoke', '--customer', 'a@b.co'],
  ['signing-key', 'rotate'],
  ['webhook', 'add', '--url', 'https://backoffice.example/'],
  ['webhook', 'pause', 'x'],
  ['webhook', 'test', 'x'],
]

describe('where there is no store', () => {
  let cwd: string
  let path: string
  beforeEach(() => {
    cwd = tempFolder()
    path = join(cwd, 'data/teslim.db')
  })

  it.each([...READING, ...CHANGING].map((args) => [args]))('%j fails and creates nothing', async (args) => {
    const { status, stdout, stderr } = await runCommand(args, { cwd })
    expect([status, stdout, stderr]).toEqual([
      1,
      '',
      `teslim ${args[0]} ${args[1]}: There is no store at ${path} (its folder is missing, too): check DATABASE_URL, the folder you are in, and whether its disk is mounted, or run "teslim restore". Only for a new installation, "teslim customer add" or "teslim migrate" creates one.\n`,
    ])
    expect(existsSync(join(cwd, 'data'))).toBe(false)
  })

  it('a backup, a schedule of backups and a purge say where it should be, and make nothing', async () => {
    for (const args of [
      ['backup', 'b.db'],
      ['backup', cwd, '--every', '6h'],
      ['purge', '--older', '400d'],
    ])
      expect(await runCommand(args, { cwd })).toMatchObject({
        status: 1,
        stdout: '',
        stderr: expect.stringContaining(
          `There is no store at ${path} (its folder is missing, too): check DATABASE_URL`,
        ),
      })
    expect(readdirSync(cwd)).toEqual([])
  })

  it('an empty file is none either, and stays empty', async () => {
    mkdirSync(join(cwd, 'data'))
    writeFileSync(path, '')
    for (const args of [
      ['customer', 'list'],
      ['signing-key', 'rotate'],
    ])
      expect(await runCommand(args, { cwd })).toMatchObject({
        status: 1,
        stderr: expect.stringContaining('There is no store at'),
      })
    expect(readFileSync(path)).toHaveLength(0)
  })

  it.each([
    ['bad', [], 'is not an e-mail address'],
    ['a@b.co', ['--region', 'TUR'], 'is not a region'],
    ['a@b.co', ['--allow', 'A*B'], 'is not a rule'],
    ['a@b.co', ['--name', 'a\nb'], 'A name is at most 100 characters'],
    ['a@b.co', ['--note', 'a'.repeat(1001)], 'A note is at most 1000 characters'],
  ])('customer add of %s %j fails and creates nothing', async (email, args, message) => {
    const { status, stderr } = await runCommand(['customer', 'add', '--email', email, '--generate', ...args], { cwd })
    expect([status, stderr]).toEqual([2, expect.stringContaining(message)])
    expect(existsSync(join(cwd, 'data'))).toBe(false)
  })

  it('customer add creates one, and says where on stderr', async () => {
    const created = `teslim: created a new store, ${path}\n`
    const add = (email: string) => runCommand(['customer', 'add', '--email', email, '--generate', '--json'], { cwd })
    const first = await add('a@b.co')
    expect([first.status, first.stderr, JSON.parse(first.stdout).email]).toEqual([0, created, 'a@b.co'])
    expect(await add('c@d.co')).toMatchObject({ status: 0, stderr: '' })
  })

  it('migrate creates one, says where, and applies every migration once', async () => {
    const folder = tempFolder()
    const run = (...args: string[]) => runCommand(['migrate', ...args], { cwd: folder })
    expect((await run()).stdout).toBe(
      [`created a new store, ${folder}/data/teslim.db`, ...ALL.map((name) => `applied ${name}`), ''].join('\n'),
    )
    expect(JSON.parse((await run('--json')).stdout)).toEqual({ applied: [] })
    expect((await run()).stdout).toBe('sqlite:./data/teslim.db is up to date.\n')
    rmSync(join(folder, 'data'), { recursive: true })
    expect(JSON.parse((await run('--json')).stdout)).toEqual({ applied: ALL })
  })

  it.each(storesOfRun())(
    'migrate --existing creates none, ends with 0, and applies what a store lacks (%s)',
    async (kind) => {
      const folder = tempFolder()
      const env = kind === 'postgres' ? { DATABASE_URL: await newDatabase(inject('postgresUrl')) } : {}
      const run = (...args: string[]) => runCommand(['migrate', ...args], { cwd: folder, env })
      expect(await run('--existing')).toEqual({
        status: 0,
        stdout: '',
        stderr: expect.stringMatching(/There is no store/),
      })
      expect((await run('--existing', '--json')).stdout).toBe('{"applied":[]}\n')
      expect(readdirSync(folder)).toEqual([])
      expect((await run()).stdout).toContain('created a new store')
      expect(await run('--existing')).toMatchObject({ status: 0, stdout: expect.stringContaining('is up to date') })
    },
  )

  it('serve creates one outside production, and says where', async () => {
    const folder = tempFolder()
    const server = await serve({ cwd: folder })
    await server.printed(new RegExp(`created a new store, ${folder}/data/teslim.db`))
  })

  it('a PostgreSQL database stays without tables until one of these commands runs', async () => {
    const url = new URL(await newDatabase(inject('postgresUrl')))
    url.password = 'geheim'
    const env = { DATABASE_URL: url.href }
    const tables = () => runSql(env.DATABASE_URL, "SELECT FROM pg_tables WHERE schemaname = 'public'")
    for (const args of [
      ['customer', 'list'],
      ['signing-key', 'rotate'],
    ]) {
      const { status, stderr } = await runCommand(args, { cwd, env })
      expect([status, stderr]).toEqual([
        1,
        `teslim ${args.join(' ')}: There is no store in the database that DATABASE_URL names: check its name, or restore a dump. Only for a new installation, "teslim customer add" or "teslim migrate" creates one.\n`,
      ])
      expect(await tables()).toEqual([])
    }
    const { stdout } = await runCommand(['migrate'], { cwd, env })
    expect(stdout).toMatch(/^created a new store, postgres:\/\/teslim:\*\*\*@\S+\n/)
    expect(await runCommand(['customer', 'list'], { cwd, env })).toMatchObject({ status: 0, stderr: '' })
  })
})
