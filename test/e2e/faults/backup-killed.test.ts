import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { canMount, canTrace, killedAt, smallDisk } from '../../support/faults/faults.ts'
import { deliver, makeSupplier, missingFrom } from '../../support/processes/ledger.ts'
import { runPrepared } from '../../support/processes/prepared-commands.ts'
import { serve, teslim } from '../../support/processes/process.ts'
import { tempFolder } from '../../support/temp-folder.ts'

const env = { NODE_ENV: 'production' }
const traceable = canTrace()
const mountable = canMount()

const failing = (faults: string): string[] => [
  'strace',
  '-D',
  '-f',
  '-o',
  '/dev/null',
  '-e',
  `trace=${faults.split(':')[0]}`,
  '-e',
  `inject=${faults}`,
]

/** A process under strace stops at every system call, and waits for a processor to go on. */
const PATIENCE = { timeout: 300_000 }

it.runIf(traceable)(
  'a backup that is killed or finds a full disk harms nothing, leaves no backup, and the next one works',
  PATIENCE,
  async () => {
    const cwd = tempFolder()
    const where = { cwd, env }
    const { key } = await makeSupplier(where)
    const server = await serve(where)
    const load = deliver({ url: server.url, key, clients: 1, pause: 50 })
    await load.more(20)
    for (const [call, nth] of [
      ['pwrite64', 3],
      ['pwrite64', 20],
      ['unlink', 1],
      ['rename', 1],
      ['rename', 2],
    ] as const) {
      const { status } = await teslim(['backup', 'b.db'], { ...where, through: killedAt(call, nth) })
      expect([call, nth, status, existsSync(join(cwd, 'b.db'))]).toEqual([call, nth, null, false])
    }
    const full = await teslim(['backup', 'b.db'], { ...where, through: failing('pwrite64:error=ENOSPC:when=5+') })
    expect(full).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/was not made: .*full\. Nothing is left of it\.\n$/),
    })
    expect(readdirSync(cwd).filter((name) => name.endsWith('.partial'))).toEqual([])
    await load.more(20)
    const before = [...load.acknowledged]
    expect(await runPrepared(['backup', 'b.db'], where)).toMatchObject({ status: 0, stderr: '' })
    await load.stop()
    expect([...load.others.keys()]).toEqual([])
    expect(missingFrom(join(cwd, 'b.db'), before)).toEqual([])
  },
)

it.runIf(traceable)(
  'whatever step a backup is killed at, the next one removes what it left, under another name, too',
  PATIENCE,
  async () => {
    const cwd = tempFolder()
    const where = { cwd, env }
    await makeSupplier(where)
    const steps = [
      ...Array.from({ length: 12 }, (_, index) => ['pwrite64', 1 + index] as const),
      ...[1, 2, 3].map((nth) => ['unlink', nth] as const),
      ['rename', 1] as const,
      ['rename', 2] as const,
    ]
    for (const [index, [call, nth]] of steps.entries()) {
      const { status } = await teslim(['backup', `killed-${index}.db`], { ...where, through: killedAt(call, nth) })
      expect([call, nth, status]).toEqual([call, nth, null])
      expect(await runPrepared(['backup', `${index}.db`], where)).toMatchObject({ status: 0, stderr: '' })
      const left = readdirSync(cwd).filter((name) => name.startsWith('killed'))
      expect([call, nth, left]).toEqual([call, nth, []])
    }
  },
)

it.runIf(mountable)('a backup without room for it is refused before anything is copied', async () => {
  const cwd = tempFolder()
  await makeSupplier({ cwd, env })
  const disk = smallDisk(1)
  disk.fill(200_000)
  const target = join(disk.path, 'b.db')
  expect(await runPrepared(['backup', target], { cwd, env })).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/The backup needs \d+ MiB free in .*, which has 1 MiB: make room first\./),
  })
  expect(readdirSync(disk.path)).toEqual(['filler'])
})

it.runIf(traceable)(
  'a restore that is killed at any step leaves the old or the new store whole, and the next one finishes',
  async () => {
    const cwd = tempFolder()
    const where = { cwd, env }
    await makeSupplier(where)
    const path = join(cwd, 'data/teslim.db')
    await runPrepared(['backup', 'b.db'], where)
    /** Leaves a mark in the store, in its log only, as a process that is killed does. */
    const mark = (name: string): void => {
      const script = `
        const database = new (require('node:sqlite').DatabaseSync)('${path}')
        database.exec("PRAGMA journal_mode = WAL; INSERT INTO service_secret VALUES ('mark', CAST('${name}' AS BLOB))")
        process.kill(process.pid, 'SIGKILL')`
      spawnSync(process.execPath, ['-e', script])
      expect(statSync(`${path}-wal`).size).toBeGreaterThan(0)
    }
    /** What lies at the store's path: the old store with the last mark, or the backup, which has none. */
    const found = (): string => {
      const database = new DatabaseSync(path)
      try {
        expect(database.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
        const mark = database.prepare(`SELECT value FROM service_secret WHERE name = 'mark'`).get()?.value
        return mark === undefined ? 'new' : String(Buffer.from(mark as Uint8Array))
      } finally {
        database.close()
      }
    }
    const seen = new Set<string>()
    for (const [call, nth, file] of [
      ['pwrite64', 1, `${path}.restoring`],
      // The log is written into the old store, which then stops using one.
      ['pwrite64', 1, path],
      ['unlink', 1, `${path}-wal`],
      ['pwrite64', 2, path],
      ['/^link', 1, path],
      ['/^rename', 1, `${path}.restoring`],
    ] as const) {
      const name = `${call} ${nth} ${basename(file)}`
      mark(name)
      const { status } = await teslim(['restore', 'b.db'], {
        ...where,
        through: ['strace', '-P', file, ...killedAt(call, nth).slice(1)],
      })
      expect([name, status]).toEqual([name, null])
      expect([name, 'new']).toContain(found())
      seen.add(found() === 'new' ? 'new' : 'old')
      // A server starts on it, whichever it is.
      if (call === '/^rename') {
        const server = await serve(where)
        server.child.kill('SIGTERM')
        expect(await server.ended).toBe(0)
        expect(found()).toBe(name)
      }
      expect(await runPrepared(['restore', 'b.db'], where)).toMatchObject({ status: 0, stderr: '' })
      expect(found()).toBe('new')
      expect(readdirSync(join(cwd, 'data')).filter((file) => /restoring|-journal/.test(file))).toEqual([])
      for (const file of readdirSync(join(cwd, 'data')).filter((each) => each.includes('.before-')))
        rmSync(join(cwd, 'data', file))
    }
    expect(seen).toContain('old')
  },
  120_000,
)
