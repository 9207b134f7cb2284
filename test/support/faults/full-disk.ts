import { cpSync, existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { onTestFinished } from 'vitest'
import { ask } from '../app/ask.ts'
import { type Acknowledged, deliver, keyOfSupplier, type Load } from '../processes/ledger.ts'
import { type ServerProcess, serve } from '../processes/process.ts'
import { tempFolder } from '../temp-folder.ts'
import { pace, until } from '../until.ts'
import { smallDisk } from './faults.ts'

export const MIB = 1024 * 1024
export const DISK = 40 * MIB
/** How long deliveries may still be refused once there is room again. */
export const BACK_MILLISECONDS = 5000

/** Between an answer and the next question of a client that asks again and again. */
const PAUSE_MILLISECONDS = 10

export interface Running {
  readonly server: ServerProcess
  readonly load: Load
}

/** A supplier's load on a server whose store has a disk of 40 MB, over restarts. */
export async function onSmallDisk() {
  const disk = smallDisk(DISK / MIB)
  const path = join(disk.path, 'data/teslim.db')
  const options = { cwd: tempFolder(), env: { NODE_ENV: 'production', DATABASE_URL: `sqlite:${path}` } }
  const key = await keyOfSupplier({ cwd: options.cwd })
  cpSync(join(options.cwd, 'data'), join(disk.path, 'data'), { recursive: true })
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

export const bytesOfLog = (path: string): number => (existsSync(`${path}-wal`) ? statSync(`${path}-wal`).size : 0)

/** Until some deliveries in succession were refused. */
export async function refused({ others, acknowledged }: Load): Promise<void> {
  let [before, stored] = [0, -1]
  await until('deliveries are refused', () => {
    const now = others.get(503) ?? 0
    if (acknowledged.length !== stored) [before, stored] = [now, acknowledged.length]
    return now > before + 20
  })
}

/** Until one is stored. */
export async function back(load: Load): Promise<void> {
  const before = load.acknowledged.length
  await until('deliveries are stored again', () => load.acknowledged.length > before, {
    milliseconds: BACK_MILLISECONDS,
  })
}

/** Reads the store as it is now until `leave` is called. */
export function pin(path: string) {
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
export async function readiness({ url }: ServerProcess, times: number): Promise<number[]> {
  const statuses: number[] = []
  for (; statuses.length < times; await pace(PAUSE_MILLISECONDS))
    statuses.push((await ask(`${url}/readyz`, { method: 'GET', headers: {} })).status)
  return statuses
}
