import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it, onTestFinished } from 'vitest'
import { runPrepared } from '../support/processes/prepared-commands.ts'
import { startProcess } from '../support/processes/process.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { until } from '../support/until.ts'

/** A store that takes a while to copy, and a folder for its backups. */
async function newStage(folder = join(tempFolder(), 'backups')) {
  const cwd = tempFolder()
  await runPrepared(['migrate'], { cwd })
  const database = new DatabaseSync(join(cwd, 'data/teslim.db'))
  database.exec('CREATE TABLE filler AS SELECT zeroblob(60000000) AS bytes')
  database.close()
  mkdirSync(folder, { recursive: true })
  const run = (...args: string[]) => runPrepared(args, { cwd })
  const files = (end = '') => readdirSync(folder).filter((name) => name.endsWith(end))
  const doctor = async () => {
    const { checks } = JSON.parse((await run('doctor', '--json')).stdout) as {
      checks: { name: string; status: string; message: string }[]
    }
    return checks.filter(({ name, status }) => name === 'backup' && status === 'warning').map(({ message }) => message)
  }
  /** Starts a backup that is under way, and resolves with its incomplete file. */
  const begin = async (...args: string[]): Promise<{ child: ChildProcess; partial: string }> => {
    const before = files('.partial')
    const child = startProcess(['backup', ...args], { cwd })
    onTestFinished(() => void child.kill('SIGKILL'))
    const found = () => files('.partial').filter((name) => !before.includes(name))
    await until('a part is copied', () => found().some((name) => statSync(join(folder, name)).size > 1_000_000))
    return { child, partial: join(folder, found()[0] ?? '') }
  }
  const kill = async (...args: string[]): Promise<string> => {
    const { child, partial } = await begin(...args)
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    expect(await ended).toEqual([null, 'SIGKILL'])
    expect(existsSync(partial)).toBe(true)
    return partial
  }
  return { cwd, folder, run, files, doctor, begin, kill }
}

it('what killed backups left is named by the doctor, and removed by the next backup, wherever that is made; nothing else is', async () => {
  const { folder, run, files, doctor, kill, cwd } = await newStage()
  writeFileSync(join(folder, 'mine.partial'), 'not made by a backup')
  writeFileSync(join(folder, 'teslim-20200101T000000Z.db.partial'), 'not made by this store')
  const scheduled = await kill(folder, '--every', '6h')
  const left = await kill(join(folder, 'monday.db'))
  // The second run removed what the first had left.
  expect(existsSync(scheduled)).toBe(false)
  expect(left).toBe(join(folder, 'monday.db.partial'))
  expect(await doctor()).toEqual([`${left} was left by a backup that was killed: see why; the next backup removes it`])
  expect(await run('backup', 'b.db')).toMatchObject({ status: 0, stderr: '' })
  expect(files().toSorted()).toEqual(['mine.partial', 'teslim-20200101T000000Z.db.partial'])
  expect(
    readdirSync(cwd)
      .filter((name) => name !== 'data')
      .toSorted(),
  ).toEqual(['b.db', 'b.db.sha256'])
  expect(await doctor()).toEqual([])
})

it('a schedule that was killed removes what it left when it goes on', async () => {
  const { folder, files, kill, cwd } = await newStage()
  const left = await kill(folder, '--every', '6h')
  const second = () => Math.floor(Date.now() / 1000)
  const killedIn = second()
  await until('its next backup has another name', () => second() > killedIn)
  const child = startProcess(['backup', folder, '--every', '6h', '--json'], { cwd })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [line] = (await child.stdout.take(1).toArray()) as Buffer[]
  const { path } = JSON.parse(String(line)) as { path: string }
  expect(path).not.toBe(left.replace('.partial', ''))
  expect(
    files()
      .map((name) => join(folder, name))
      .toSorted(),
  ).toEqual([path, `${path}.sha256`])
})

it('the file of a living backup stays, whoever looks: of this store, and of another one with the same folder', async () => {
  const one = await newStage()
  const other = await newStage(one.folder)
  const { child, partial } = await one.begin(join(one.folder, 'one.db'))
  child.kill('SIGSTOP')
  expect(await one.run('backup', 'b.db')).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('Another process is making a backup of'),
  })
  expect(await one.doctor()).toEqual([])
  const left = await other.kill(join(one.folder, 'other.db'))
  expect(await other.run('backup', 'b.db')).toMatchObject({ status: 0 })
  expect([existsSync(left), existsSync(partial)]).toEqual([false, true])
  const ended = once(child, 'exit')
  child.kill('SIGCONT')
  expect(await ended).toEqual([0, null])
  expect(one.files().toSorted()).toEqual(['one.db', 'one.db.sha256'])
  expect(await one.run('restore', '--check', join(one.folder, 'one.db'))).toMatchObject({ status: 0 })
})

it('a file that another process has since made under the name of a killed one stays, with its SHA-256', async () => {
  const { folder, run, files, doctor, kill } = await newStage()
  const left = await kill(join(folder, 'monday.db'))
  rmSync(left)
  for (const name of ['monday.db.partial', 'monday.db.sha256', 'monday.db.sha256.partial'])
    writeFileSync(join(folder, name), 'of another machine')
  expect(await doctor()).toEqual([])
  expect(await run('backup', 'b.db')).toMatchObject({ status: 0 })
  expect(
    files()
      .filter((name) => !name.includes('journal'))
      .toSorted(),
  ).toEqual(['monday.db.partial', 'monday.db.sha256', 'monday.db.sha256.partial'])
})

it('a folder that is away keeps no other backup from being made, and is cleared when it is back', async () => {
  const { folder, run, kill } = await newStage()
  await kill(join(folder, 'monday.db'))
  renameSync(folder, `${folder}-away`)
  expect(await run('backup', 'b.db')).toMatchObject({ status: 0, stderr: '' })
  renameSync(`${folder}-away`, folder)
  expect(await run('backup', 'c.db')).toMatchObject({ status: 0, stderr: '' })
  expect(readdirSync(folder)).toEqual([])
})
