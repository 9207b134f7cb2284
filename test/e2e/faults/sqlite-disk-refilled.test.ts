import { once } from 'node:events'
import { existsSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it, onTestFinished } from 'vitest'
import { ask } from '../../support/ask.ts'
import { canMount, smallDisk } from '../../support/faults.ts'
import { type Acknowledged, addSupplier, deliver, type Load, missingFrom } from '../../support/ledger.ts'
import { runPrepared } from '../../support/prepared-commands.ts'
import { type ServerProcess, serve, startProcess } from '../../support/process.ts'
import { randomBelow } from '../../support/random.ts'
import { tempFolder } from '../../support/temp-folder.ts'
import { until } from '../../support/until.ts'

const mountable = canMount()
const MIB = 1024 * 1024
const DISK = 40 * MIB
const BACK_MILLISECONDS = 5000

interface Running {
  readonly server: ServerProcess
  readonly load: Load
}

/** A supplier's load on a server whose store has a disk of 40 MB, over restarts. */
async function onSmallDisk() {
  const disk = smallDisk(DISK / MIB)
  const path = join(disk.path, 'data/teslim.db')
  const options = { cwd: tempFolder(), env: { NODE_ENV: 'production', DATABASE_URL: `sqlite:${path}` } }
  const key = await addSupplier(options)
  const loads: Load[] = []

  const start = async (): Promise<Running> => {
    const server = await serve(options)
    const load = deliver({ url: server.url, key, clients: 4, bytes: 3000, pause: 1 })
    loads.push(load)
    return { server, load }
  }
  const kill = async ({ server, load }: Running): Promise<void> => {
    server.child.kill('SIGKILL')
    await Promise.all([server.ended, load.stop()])
  }
  const stop = async ({ server, load }: Running): Promise<void> => {
    server.child.kill('SIGTERM')
    await Promise.all([server.ended, load.stop()])
  }
  return {
    disk,
    path,
    key,
    start,
    kill,
    stop,
    options,
    acknowledged: (): Acknowledged[] => loads.flatMap((load) => load.acknowledged),
  }
}

const bytesOfLog = (path: string): number => (existsSync(`${path}-wal`) ? statSync(`${path}-wal`).size : 0)

/** Until some deliveries in succession were refused. */
async function refused({ others, acknowledged }: Load): Promise<void> {
  let [before, stored] = [0, -1]
  await until('deliveries are refused', () => {
    const now = others.get(503) ?? 0
    if (acknowledged.length !== stored) [before, stored] = [now, acknowledged.length]
    return now > before + 20
  })
}

/** Until one is stored. */
async function back(load: Load): Promise<void> {
  const before = load.acknowledged.length
  await until('deliveries are stored again', () => load.acknowledged.length > before, {
    milliseconds: BACK_MILLISECONDS,
  })
}

/** Reads the store as it is now until `leave` is called. */
function pin(path: string) {
  const reader = new DatabaseSync(path, { readOnly: true })
  const leave = (): void => {
    if (reader.isOpen) reader.close()
  }
  onTestFinished(leave)
  reader.exec('BEGIN')
  reader.prepare('SELECT count(*) FROM delivery').get()
  return leave
}

/** Asks `/readyz` so many times. */
async function readiness({ url }: ServerProcess, times: number): Promise<number[]> {
  const statuses: number[] = []
  await until('it was asked', async () => {
    statuses.push((await ask(`${url}/readyz`, { method: 'GET', headers: {} })).status)
    return statuses.length >= times
  })
  return statuses
}

it.runIf(mountable)(
  'a log that cannot be copied because of a reader takes no more of a disk than half, and is copied as soon as the reader has left',
  async () => {
    const { path, options, start, kill, acknowledged } = await onSmallDisk()
    const running = await start()
    await running.load.more(100)
    const leave = pin(path)
    await refused(running.load)
    expect(bytesOfLog(path)).toBeLessThanOrEqual(DISK / 2)
    await running.server.printed(/cannot be copied into the file: somebody reads an old state: .*process \d+/)
    expect([...running.load.others.keys()]).toEqual([503])
    const { checks } = JSON.parse((await runPrepared(['doctor', '--json'], options)).stdout)
    expect(checks.find(({ name }: { name: string }) => name === 'log')).toMatchObject({
      status: 'warning',
      message: expect.stringMatching(
        /^the file that ends in -wal has 1\d MiB, and may have [12]\d MiB on this disk; beyond that/,
      ),
    })
    leave()
    await back(running.load)
    await running.load.more(500)
    await kill(running)
    expect(missingFrom(path, acknowledged())).toEqual([])
  },
)

it.runIf(mountable)(
  'a disk that is full and gets room again, under load with kills and readers, loses nothing: each time deliveries are back within seconds',
  async () => {
    const { disk, path, start, kill, acknowledged } = await onSmallDisk()
    let running = await start()
    const looking = setInterval(() => {
      // What is free belongs to the log as much as to the file.
      most = Math.max(most, bytesOfLog(path))
    }, 5)
    let most = 0
    onTestFinished(() => clearInterval(looking))
    for (const fault of ['none', 'reader', 'kill', 'reader and kill', 'kill', 'none', 'reader']) {
      await running.load.more(50 + randomBelow(1500))
      const leave = fault.includes('reader') ? pin(path) : () => undefined
      // Less than what fills the log while it is read.
      await running.load.more(randomBelow(100))
      disk.fill(randomBelow(2) * randomBelow(MIB))
      await refused(running.load)
      if (fault.includes('kill')) {
        await kill(running)
        leave()
        running = await start()
        await refused(running.load)
      }
      disk.clear()
      leave()
      await back(running.load)
    }
    await kill(running)
    expect(most).toBeLessThanOrEqual(DISK / 2)
    expect(missingFrom(path, acknowledged())).toEqual([])
  },
)

it.runIf(mountable)(
  'a server that was killed while its disk was full starts on it, reads, says what is wrong, and takes deliveries as soon as there is room',
  async () => {
    const { disk, key, path, start, kill, acknowledged } = await onSmallDisk()
    let running = await start()
    await running.load.more(500)
    const list = (url: string) => ask(`${url}/Supplier/deliveries?limit=1`, { method: 'GET', headers: { ApiKey: key } })
    // Makes the key of cursors.
    await list(running.server.url)
    for (const round of ['with a record of the last server', 'without one']) {
      disk.fill()
      await refused(running.load)
      await kill(running)
      if (round === 'without one') rmSync(`${path}-server`)
      disk.fill()
      running = await start()
      const { url } = running.server
      await refused(running.load)
      expect(running.load.acknowledged).toEqual([])
      const ready = await ask(`${url}/readyz`, { method: 'GET', headers: {} })
      expect(ready).toMatchObject({ status: 503, body: expect.stringContaining('its disk is full') })
      await running.server.printed(/"level":50.*its disk is full.*"msg":"store lost"/)
      const { status, body } = await list(url)
      expect(status).toBe(200)
      expect(acknowledged().map(({ receipt }) => receipt)).toContain(JSON.parse(body).data.Deliveries[0].ReceiptID)
      disk.clear()
      await back(running.load)
      await until('it is ready', async () => (await readiness(running.server, 1))[0] === 200, {
        milliseconds: BACK_MILLISECONDS,
      })
    }
    await kill(running)
    expect(missingFrom(path, acknowledged())).toEqual([])
  },
)

it.runIf(mountable)(
  'a server that is started on a full disk, without the files that SQLite needs beside the store, says so and serves as soon as there is room',
  async () => {
    const { disk, path, start, stop, options, acknowledged } = await onSmallDisk()
    const running = await start()
    await running.load.more(500)
    await stop(running)
    expect(existsSync(`${path}-shm`)).toBe(false)
    disk.fill()
    const waiting = startProcess(['serve'], { ...options, env: { ...options.env, PORT: '0', TESLIM_OPS_PORT: '0' } })
    onTestFinished(() => void waiting.kill('SIGKILL'))
    let printed = ''
    for (const stream of [waiting.stdout, waiting.stderr]) stream.on('data', (chunk) => (printed += chunk))
    await until('it says what it waits for', () => printed.includes('\n'))
    expect(printed).toMatch(/^teslim serve: waiting until there is room on the disk: .*its disk is full.*\n$/)
    disk.clear()
    await until('it listens', () => printed.includes('listening on'), { milliseconds: BACK_MILLISECONDS })
    waiting.kill('SIGKILL')
    await once(waiting, 'exit')
    expect(missingFrom(path, acknowledged())).toEqual([])
  },
)

it.runIf(mountable)(
  '/readyz does not change while the disk is full, though small deliveries and refusals are written in between',
  async () => {
    const { disk, key, start, kill, path, acknowledged } = await onSmallDisk()
    const running = await start()
    const { url } = running.server
    await running.load.more(100)
    // Room for some small deliveries, but not for large ones.
    const large = deliver({ url, key, bytes: 900_000, clients: 2 })
    disk.fill(3 * MIB)
    await refused(large)
    expect(await readiness(running.server, 1)).toEqual([503])
    const wrong = deliver({ url, key: 'nobody', clients: 2 })
    expect(new Set(await readiness(running.server, 200))).toEqual(new Set([503]))
    expect([...wrong.others.keys()]).toEqual([401])
    disk.clear()
    await back(large)
    await until('it is ready', async () => (await readiness(running.server, 1))[0] === 200)
    await Promise.all([wrong.stop(), large.stop()])
    await kill(running)
    expect(missingFrom(path, [...acknowledged(), ...large.acknowledged])).toEqual([])
  },
)
