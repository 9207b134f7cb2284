import { mkdirSync, readdirSync, readFileSync, readlinkSync, statfsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { canMount, type SmallDisk, smallDisk } from '../../../support/faults/faults.ts'
import { WEBHOOK_ALLOW } from '../../../support/network/allowed-ports.ts'
import { startTcpProxy, type TcpProxy } from '../../../support/network/tcp-proxy.ts'
import { freePort, type PostgresServer, startPostgres } from '../../../support/postgres/postgres-server.ts'
import { type RunOptions, type ServerProcess, serve } from '../../../support/processes/process.ts'
import { tempFolder } from '../../../support/temp-folder.ts'
import { pace, until } from '../../../support/until.ts'
import { complaintsOf, type Judge, tailOf } from './judge.ts'

export type StoreKind = 'sqlite' | 'postgres'

/** Where commands run, and what there is to be broken. */
export interface Site {
  readonly store: StoreKind
  readonly where: RunOptions
  readonly replicas: readonly Replica[]
  /** Of the embedded store, where one can be mounted. */
  readonly disk: SmallDisk | undefined
  /** The file of the embedded store. */
  readonly path: string
  readonly postgres: PostgresServer | undefined
  /** Starts the servers, which are started again whenever they end. */
  start(): Promise<void>
  /** Gives the disk so many bytes for all but the file, which grows as long as suppliers deliver. */
  giveRoom(bytes: number): void
  /** Ends all servers in order. */
  stop(): Promise<void>
  /** The most memory that a server has taken so far, in bytes. */
  memory(): number
  log(): string
}

/** A server that is started again whenever it ends, as systemd does. */
export interface Replica {
  readonly name: string
  /** The address for clients, which stays. */
  readonly url: string
  readonly connections: TcpProxy
  /** The process that serves now. */
  server(): ServerProcess | undefined
  opsUrl(): string | undefined
  /** SIGKILL, also while it starts. */
  kill(): void
  /** SIGTERM, and waits until it has ended. */
  terminate(): Promise<void>
  /** Returns what lets it start again. */
  keepDown(): () => void
  /** When the last delivery that it stored was sent to it. */
  storedAt: number
}

/** Left free when the disk is made smaller. */
const MIN_FREE = 8 * 2 ** 20
const FIRST_MEGABYTES = 64
const RESTART_PAUSE_MILLISECONDS = 200
const SAMPLE_MILLISECONDS = 300
/** TESLIM_SHUTDOWN_SECONDS is 8. */
const END_MILLISECONDS = 15_000

const SETTINGS = {
  NODE_ENV: 'production',
  ...WEBHOOK_ALLOW,
  TESLIM_TRUST_PROXY: 'loopback',
  TESLIM_KEEP_REFUSED: 'known',
  // Short enough for a locked file to make deliveries fail.
  TESLIM_REQUEST_TIMEOUT: '5',
}

export async function openSite(store: StoreKind, judge: Judge): Promise<Site> {
  const cwd = tempFolder()
  // Hooks run in reverse order: this one after everything has been ended.
  onTestFinished(() => expectNothingLeft([cwd, ...(disk ? [disk.path] : [])]))
  const disk = store === 'sqlite' && canMount() ? smallDisk(FIRST_MEGABYTES) : undefined
  const postgres = store === 'postgres' ? await startPostgres({ settings: ['max_connections = 100'] }) : undefined
  if (postgres) onTestFinished(() => postgres.remove())
  const path = join(disk?.path ?? cwd, 'data/teslim.db')
  if (disk) mkdirSync(join(disk.path, 'data'), { mode: 0o700 })
  const where = { cwd, env: { ...SETTINGS, DATABASE_URL: postgres?.url ?? `sqlite:${path}` } }

  const logs: string[] = []
  let memory = 0
  let isOpen = true
  const names = postgres ? ['server 1', 'server 2'] : ['server']
  const supervised = await Promise.all(names.map((name) => supervise(name)))
  const replicas = supervised.map(({ replica }) => replica)
  onTestFinished(async () => {
    isOpen = false
    for (const { kill } of replicas) kill()
    await Promise.all(supervised.map(({ ended }) => ended()))
  })

  async function supervise(name: string) {
    let current: ServerProcess | undefined
    let opsUrl: string | undefined
    let kill = (): void => undefined
    let isTold = false
    let isDown = false
    let ended: Promise<void> = Promise.resolve()

    const serveOnce = async (): Promise<void> => {
      isTold = false
      const port = await freePort()
      const options = { ...where, env: { ...where.env, TESLIM_OPS_PORT: `${port}` } }
      const server = await serve(options, (end) => {
        kill = end
      }).catch((error: Error) => error)
      if (server instanceof Error) {
        const log = server.message.replace(/^.*\n/, '')
        logs.push(`--- ${name} did not start\n${log}`)
        for (const line of complaintsOf(log, { started: false })) judge.problem(`${name}, as it started: ${line}`)
        return
      }
      current = server
      opsUrl = `http://127.0.0.1:${port}`
      const status = await server.ended
      current = undefined
      opsUrl = undefined
      logs.push(`--- ${name} ended with ${status}\n${tailOf(server.output())}`)
      for (const line of complaintsOf(server.output(), { started: true })) judge.problem(`${name} printed ${line}`)
      if (!isTold) judge.problem(`${name} ended by itself, with ${status}`)
    }
    const run = async (): Promise<void> => {
      while (isOpen) {
        if (!isDown) await serveOnce()
        await pace(RESTART_PAUSE_MILLISECONDS)
      }
    }
    const replica: Replica = {
      name,
      connections: await startTcpProxy(() => current?.url),
      get url() {
        return replica.connections.url
      },
      server: () => current,
      opsUrl: () => opsUrl,
      kill() {
        isTold = true
        kill()
      },
      async terminate() {
        const server = current
        if (server === undefined) return
        isTold = true
        server.child.kill('SIGTERM')
        let status: number | null | undefined
        void server.ended.then((found) => {
          status = found
        })
        await until('', () => status !== undefined, { milliseconds: END_MILLISECONDS }).catch(() => undefined)
        if (status !== 0)
          judge.problem(`${name} got SIGTERM: ${status === undefined ? 'it runs on' : `it ended with ${status}`}`)
      },
      keepDown() {
        isDown = true
        return () => {
          isDown = false
        }
      },
      storedAt: 0,
    }
    return {
      replica,
      start: () => {
        ended = run()
      },
      ended: () => ended,
    }
  }

  const sample = async (): Promise<void> => {
    while (isOpen) {
      for (const { server } of replicas) memory = Math.max(memory, peakMemory(server()?.child.pid))
      await pace(SAMPLE_MILLISECONDS)
    }
  }

  return {
    store,
    where,
    replicas,
    disk,
    path,
    postgres,
    async start() {
      for (const { start } of supervised) start()
      await until('the servers serve', () => replicas.every(({ server }) => server() !== undefined))
      void sample()
    },
    giveRoom(bytes) {
      if (disk === undefined) return
      const { blocks, bfree, bsize } = statfsSync(disk.path)
      disk.resize(Math.max(statSync(path).size + bytes, (blocks - bfree) * bsize + MIN_FREE))
    },
    async stop() {
      isOpen = false
      await Promise.all(replicas.map(({ terminate }) => terminate()))
      for (const { kill } of replicas) kill()
      await Promise.all(supervised.map((each) => each.ended()))
    },
    memory: () => memory,
    log: () => [...logs.slice(-4), ...replicas.map(({ server }) => tailOf(server()?.output() ?? ''))].join('\n'),
  }
}

/** VmHWM in bytes; 0 for a process that is gone. */
function peakMemory(pid: number | undefined): number {
  try {
    return Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024
  } catch {
    return 0
  }
}

/** Every process that a run starts works in one of its folders. */
function expectNothingLeft(folders: readonly string[]): void {
  const isOurs = (path: string): boolean => folders.some((folder) => path.startsWith(folder))
  const processes = readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && isOurs(readlinkSync(`/proc/${pid}/cwd`))
    } catch {
      return false
    }
  })
  const mounts = readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .filter((line) => isOurs(line.split(' ')[1] ?? ''))
  if (processes.length > 0 || mounts.length > 0)
    throw new Error(`left behind: processes ${processes.join(', ') || 'none'}; mounts ${mounts.join(', ') || 'none'}`)
}
