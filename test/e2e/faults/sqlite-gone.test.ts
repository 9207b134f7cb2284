import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, linkSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { fetch } from '../../support/app/checked-fetch.ts'
import { deliver, keyOfSupplier, missingFrom } from '../../support/processes/ledger.ts'
import { runPrepared } from '../../support/processes/prepared-commands.ts'
import { SCRIPT, type ServerProcess, serve, teslim } from '../../support/processes/process.ts'
import { tempFolder } from '../../support/temp-folder.ts'
import { until } from '../../support/until.ts'

const env = { NODE_ENV: 'production' }

async function newStore() {
  const cwd = tempFolder()
  const key = await keyOfSupplier({ cwd, env })
  return { cwd, key, path: join(cwd, 'data/teslim.db') }
}

const isLinux = process.platform === 'linux'
if (!isLinux) console.log('locks that a process drops: skipped, they are read from /proc')

/** By the times of its log, as a busy machine takes long to end a process. A second is promised; the rest is for such a machine. */
const NOTICED_MILLISECONDS = 3000

/** Provokes a fault under load, and expects what is promised; resolves to what was acknowledged. */
async function takeAway(cwd: string, key: string, fault: (data: string) => void, reason: RegExp) {
  const server = await serve({ cwd, env })
  let faultAt = Number.POSITIVE_INFINITY
  const late: number[] = []
  const load = deliver({
    url: server.url,
    key,
    clients: 4,
    // A delivery that was sent before the fault may be confirmed after it.
    onAnswer: (status, milliseconds) => {
      const sentAt = performance.now() - milliseconds
      if (status === 200 && sentAt > faultAt) late.push(sentAt - faultAt)
    },
  })
  await load.more(50)
  fault(join(cwd, 'data'))
  faultAt = performance.now()
  const tookAwayAt = Date.now()
  expect(await server.ended).toBe(1)
  await load.stop()
  expect(late).toEqual([])
  const lines = server.output().split('\n')
  const said = lines.filter((line) => line.includes('no longer the one that was opened'))
  expect(said).toEqual([expect.stringMatching(reason)])
  expect(Date.parse(JSON.parse(said[0] ?? '').time) - tookAwayAt).toBeLessThan(NOTICED_MILLISECONDS)
  return load.acknowledged
}

describe('a server whose store is taken away confirms nothing any more, says why, and ends with status 1', () => {
  const faults: [string, (data: string) => void, RegExp][] = [
    ['the folder is removed', (data) => rmSync(data, { recursive: true }), /teslim\.db was moved or removed/],
    ['the log is removed', (data) => rmSync(join(data, 'teslim.db-wal')), /teslim\.db-wal was moved or removed/],
    ['the shared memory is removed', (data) => rmSync(join(data, 'teslim.db-shm')), /teslim\.db-shm was moved or/],
    [
      'the file is replaced by a copy of it',
      (data) => {
        copyFileSync(join(data, 'teslim.db'), join(data, 'copy.db'))
        renameSync(join(data, 'copy.db'), join(data, 'teslim.db'))
      },
      /teslim\.db was replaced/,
    ],
  ]

  it.each(faults)('when %s under load', async (_, fault, reason) => {
    const { cwd, key } = await newStore()
    await takeAway(cwd, key, fault, reason)
  })

  it('when the log is removed of a store that is opened by a symbolic link to its file', async () => {
    const { cwd, key, path } = await newStore()
    symlinkSync(path, join(cwd, 'link.db'))
    const server = await serve({ cwd, env: { ...env, DATABASE_URL: `sqlite:${cwd}/link.db` } })
    const load = deliver({ url: server.url, key, clients: 2 })
    await load.more(50)
    rmSync(`${path}-wal`)
    await server.printed(/teslim\.db-wal was moved or removed/)
    expect(await server.ended).toBe(1)
    await load.stop()
  })

  it('when the file is removed that keeps a second server away', async () => {
    const { cwd, path } = await newStore()
    const server = await serve({ cwd, env })
    rmSync(`${path}-server`)
    await server.printed(/teslim\.db-server was moved or removed/)
    expect(await server.ended).toBe(1)
  })

  it('when nobody delivers, within a second, and /readyz says why; a signal to stop that comes then changes nothing', async () => {
    const { cwd } = await newStore()
    const server = await serve({ cwd, env })
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200)
    renameSync(join(cwd, 'data'), join(cwd, 'elsewhere'))
    await server.printed(/no longer the one that was opened/)
    const answer = await fetch(`${server.url}/readyz`)
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1'])
    expect(await answer.json()).toMatchObject({
      errorCode: 'STORE_UNAVAILABLE',
      message: 'The store cannot take anything: teslim.db was moved or removed.',
    })
    server.child.kill('SIGTERM')
    expect(await server.ended).toBe(1)
  })

  it.runIf(isLinux)('when something in its own process dropped its locks', async () => {
    const { cwd, key, path } = await newStore()
    const closer = join(cwd, 'closer.mjs')
    const code = `import { closeSync, openSync } from 'node:fs'
      process.on('SIGUSR2', () => closeSync(openSync(${JSON.stringify(path)}, 'r')))`
    writeFileSync(closer, code)
    const server = await serve({ cwd, env, node: ['--import', closer], program: SCRIPT })
    let saidAt = Number.POSITIVE_INFINITY
    let late = 0
    const onAnswer = (status: number, milliseconds: number): void => {
      if (status === 200 && performance.now() - milliseconds > saidAt) late++
    }
    const load = deliver({ url: server.url, key, clients: 4, onAnswer })
    await load.more(50)
    server.child.kill('SIGUSR2')
    await server.printed(/no longer holds its lock on teslim\.db/)
    saidAt = performance.now()
    expect(await server.ended).toBe(1)
    expect(late).toBe(0)
    await load.stop()
    expect(missingFrom(path, load.acknowledged)).toEqual([])
  })

  it('when the folder is moved under load, and what a supervisor starts next serves what is there', async () => {
    const { cwd, key, path } = await newStore()
    const replaceFolder = (data: string): void => {
      renameSync(data, `${data}-moved`)
      mkdirSync(data)
    }
    const acknowledged = await takeAway(cwd, key, replaceFolder, /teslim\.db was moved or removed/)
    rmSync(join(cwd, 'data'), { recursive: true })
    renameSync(join(cwd, 'data-moved'), join(cwd, 'data'))
    const second = await serve({ cwd, env })
    const again = deliver({ url: second.url, key })
    await again.more(10)
    await again.stop()
    second.child.kill('SIGTERM')
    expect(await second.ended).toBe(0)
    expect(missingFrom(path, [...acknowledged, ...again.acknowledged])).toEqual([])
  })
})

describe('a second server on the same file', async () => {
  const inUse = /is in use by process \d+ on \S+, since 20\d\d-[^ ]+Z\. Stop that process first/
  const { cwd } = await newStore()
  const starts = Array.from({ length: 3 }, () => serve({ cwd, env }))
  const outcomes = await Promise.allSettled(starts)
  const serving = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
  const refused = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [String(outcome.reason)] : []))
  const first = serving[0] as ServerProcess

  it('is refused when many start at once: one serves', () => {
    expect(serving).toHaveLength(1)
    expect(refused).toEqual([expect.stringMatching(/is in use by/), expect.stringMatching(/is in use by/)])
  })

  it('is refused at its start, and told who serves it; the first goes on', async () => {
    const second = await teslim(['serve'], { cwd, env: { ...env, PORT: '0' } })
    expect(second).toMatchObject({ status: 1, stderr: expect.stringMatching(inUse) })
    expect(second.stderr).toContain(`process ${first.child.pid} `)
    const ready = await fetch(`${first.url}/readyz`)
    expect([ready.status, await ready.text()]).toEqual([200, expect.any(String)])
    const { stdout } = await runPrepared(['doctor', '--json'], { cwd, env })
    expect(JSON.parse(stdout).checks).toContainEqual({
      name: 'server',
      status: 'ok',
      message: expect.stringContaining(`process ${first.child.pid} `),
      code: 'SERVER_RUNS',
      values: expect.any(Object),
    })
  })

  it('is refused whatever name it knows the file by', async () => {
    const link = join(cwd, 'link')
    await once(spawn('ln', ['-s', join(cwd, 'data'), link]), 'exit')
    const second = await teslim(['serve'], {
      cwd,
      env: { ...env, PORT: '0', DATABASE_URL: `sqlite:${link}/teslim.db` },
    })
    expect(second).toMatchObject({ status: 1, stderr: expect.stringMatching(inUse) })
  })

  it('may start as soon as the first was killed, also while somebody asks who serves', async () => {
    const { cwd } = await newStore()
    const first = await serve({ cwd, env })
    first.child.kill('SIGKILL')
    await first.ended
    const starting = serve({ cwd, env })
    let hasStarted = false
    const asked = starting.finally(() => {
      hasStarted = true
    })
    while (!hasStarted) await runPrepared(['doctor', '--json'], { cwd, env })
    const second = await asked
    await expect.poll(async () => (await fetch(`${second.url}/readyz`)).status, { timeout: 10_000 }).toBe(200)
  })

  it('is refused under another name of the same file', async () => {
    const { cwd, path } = await newStore()
    linkSync(path, join(cwd, 'second.db'))
    const { status, stderr } = await teslim(['serve'], { cwd, env: { ...env, PORT: '0' } })
    expect([status, stderr]).toEqual([1, expect.stringMatching(/cannot be opened: it has 2 names \(hard links\)/)])
  })
})

describe('while another process holds the lock of the file', () => {
  it('deliveries wait for a second, none longer than TESLIM_REQUEST_TIMEOUT, none that was refused is stored later, and the log says who', async () => {
    const { cwd, key, path } = await newStore()
    const server = await serve({ cwd, env: { ...env, TESLIM_REQUEST_TIMEOUT: '3' } })
    const slowest = { waited: 0 }
    const load = deliver({
      url: server.url,
      key,
      clients: 16,
      onAnswer: (_, milliseconds) => {
        slowest.waited = Math.max(slowest.waited, milliseconds)
      },
    })
    await load.more(50)
    // What takes a moment on a quiet machine may take seconds on a busy one.
    let isOver = false
    let slowestLivez = 0
    const asking = until(
      'the load is over',
      async () => {
        const start = performance.now()
        await fetch(`${server.url}/livez`)
        slowestLivez = Math.max(slowestLivez, performance.now() - start)
        return isOver
      },
      { milliseconds: 60_000 },
    )
    const brief = await holdLock(path)
    const end = performance.now() + 1000
    const released = until('a second has passed', () => performance.now() >= end).then(brief.release)
    await Promise.all([load.more(100), released])
    expect([...load.others]).toEqual([])
    expect(server.output()).not.toContain('store lost')

    const holder = await holdLock(path)
    await expect.poll(() => load.others.get(503) ?? 0, { timeout: 20_000 }).toBeGreaterThan(40)
    const login = await fetch(`${server.url}/Login/Customer/Api/Verify`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"Email":"a@b.co","Password":"wrong"}',
    })
    expect(login.status).toBe(503)
    const readiness = async () => {
      const answer = await fetch(`${server.url}/readyz`)
      return [answer.status, ((await answer.json()) as { message: string }).message]
    }
    // It may also be that its turn comes too late, behind others that wait.
    await expect
      .poll(readiness, { timeout: 20_000 })
      .toEqual([503, expect.stringContaining('another process holds its lock')])
    holder.release()
    await load.more(50)
    await server.printed(/store back/)
    await load.stop()
    isOver = true
    await asking
    expect(slowest.waited).toBeLessThan(3500 + slowestLivez)
    const lost = server.output().match(/^.*"store lost".*$/gm) ?? []
    expect(lost).toEqual([expect.stringContaining(`another process holds its lock`)])
    if (isLinux) expect(lost[0]).toContain(`(process ${holder.pid})`)
    server.child.kill('SIGTERM')
    await server.ended
    expect(missingFrom(path, load.acknowledged)).toEqual([])
    expect(load.refusedButStored(path)).toEqual([])
  }, 60_000)
})

/** Another process that takes the write lock and keeps it until it is told to let go. */
async function holdLock(path: string) {
  const script = `
    const { DatabaseSync } = await import('node:sqlite')
    const database = new DatabaseSync(process.argv[1], { timeout: 10_000 })
    database.exec('BEGIN IMMEDIATE')
    console.log('held')
    process.stdin.on('end', () => database.close()).resume()`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, path])
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  return { pid: child.pid, release: () => void child.stdin.end() }
}
