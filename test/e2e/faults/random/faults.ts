import { spawn } from 'node:child_process'
import { connect, type Socket } from 'node:net'
import pg from 'pg'
import { ask } from '../../../support/app/ask.ts'
import { runSql } from '../../../support/postgres/postgres-server.ts'
import { pace } from '../../../support/until.ts'
import { logIn } from './followers.ts'
import type { Replica, Site, StoreKind } from './site.ts'
import type { Stage } from './stage.ts'

/** A fraction from 0 up to 1. */
export type Draw = () => number

export type End = () => void | Promise<void>

type Taken = 'server' | 'disk' | 'lock' | 'reader' | 'database' | 'connections' | 'accounts' | 'callers' | 'backup'

export interface Fault {
  readonly name: string
  /** What it takes away: no two faults that are on together take the same. */
  readonly takes: readonly Taken[]
  /** Both unless given. */
  readonly store?: StoreKind
  readonly needsDisk?: true
  /** How long it is on, in milliseconds: from and to. */
  readonly lasts: readonly [number, number]
  /** Resolves once the fault is on, to what ends it. */
  begin(stage: Stage, draw: Draw): Promise<End>
}

const MIB = 2 ** 20
const WRONG_KEYS = 150
/** Few: only from step 14b on does memory stay bounded however many there are. */
const UNREAD_READERS = 20

const oneOf = <T>(items: readonly T[], draw: Draw): T => items[Math.floor(draw() * items.length)] as T
const nothing: End = () => undefined

export const FAULTS: readonly Fault[] = [
  {
    name: 'a killed server',
    takes: ['server'],
    lasts: [0, 1500],
    async begin({ site }, draw) {
      const replica = oneOf(site.replicas, draw)
      const start = replica.keepDown()
      replica.kill()
      const [isKilledAgain, after] = [draw() < 0.3, draw() * 600]
      return async () => {
        start()
        if (!isKilledAgain) return
        // As it starts, or as it recovers the file.
        await pace(after)
        replica.kill()
      }
    },
  },
  {
    name: 'a restarted server',
    takes: ['server'],
    lasts: [0, 500],
    async begin({ site }, draw) {
      const replica = oneOf(site.replicas, draw)
      const start = replica.keepDown()
      await replica.terminate()
      return start
    },
  },
  {
    name: 'a stopped server',
    takes: ['server'],
    lasts: [300, 4000],
    async begin({ site }, draw) {
      const child = oneOf(site.replicas, draw).server()?.child
      child?.kill('SIGSTOP')
      return () => void child?.kill('SIGCONT')
    },
  },
  {
    name: 'a full disk',
    takes: ['disk'],
    store: 'sqlite',
    needsDisk: true,
    lasts: [1500, 6000],
    async begin({ site: { disk } }, draw) {
      const clear = (): void => disk?.clear()
      disk?.fill(leftOver(draw))
      if (draw() < 0.5) return clear
      const end = repeated(async (isOn) => {
        await pace(300 + draw() * 1200)
        disk?.clear()
        await pace(100 + draw() * 700)
        if (isOn()) disk?.fill(leftOver(draw))
      })
      return () => end().then(clear)
    },
  },
  {
    name: 'a server killed on a full disk',
    takes: ['server', 'disk'],
    store: 'sqlite',
    needsDisk: true,
    lasts: [1000, 3000],
    async begin({ site: { disk, replicas } }, draw) {
      disk?.fill(leftOver(draw))
      await pace(500 + draw() * 1500)
      for (const replica of replicas) replica.kill()
      return () => disk?.clear()
    },
  },
  {
    name: 'a locked file',
    takes: ['lock'],
    store: 'sqlite',
    lasts: [500, 6000],
    begin: ({ site }, draw) => hold(site, 'BEGIN IMMEDIATE', draw),
  },
  {
    name: 'a pinned reader',
    takes: ['reader'],
    store: 'sqlite',
    lasts: [2000, 8000],
    begin: ({ site }, draw) => hold(site, 'BEGIN; SELECT count(*) FROM delivery', draw),
  },
  {
    name: 'a cut backup',
    takes: ['backup'],
    store: 'sqlite',
    lasts: [0, 100],
    async begin({ commands }, draw) {
      await commands.cutBackup(100 + draw() * 600)
      return nothing
    },
  },
  {
    name: 'lost connections',
    takes: ['connections'],
    lasts: [500, 2000],
    async begin({ site }, draw) {
      const broken = draw() < 0.5 ? site.replicas : [oneOf(site.replicas, draw)]
      return repeated(async (isOn) => {
        for (const { connections } of broken) connections.break()
        await pace(draw() * 200)
        for (const { connections } of broken) connections.mend()
        if (isOn()) await pace(50 + draw() * 300)
      })
    },
  },
  {
    name: 'terminated backends',
    takes: ['database'],
    store: 'postgres',
    lasts: [0, 1500],
    async begin({ site: { postgres } }) {
      const terminate = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'teslim'`
      return repeated(() => runSql(String(postgres?.url), terminate))
    },
  },
  {
    name: 'a database restarted at once',
    takes: ['database'],
    store: 'postgres',
    lasts: [0, 1500],
    async begin({ site: { postgres } }, draw) {
      if (draw() < 0.5) await postgres?.stop('immediate')
      else await postgres?.kill()
      return () => postgres?.start()
    },
  },
  {
    name: 'locked tables',
    takes: ['lock'],
    store: 'postgres',
    lasts: [500, 8000],
    async begin({ site: { postgres } }, draw) {
      const client = new pg.Client({ connectionString: String(postgres?.url) })
      // The other fault may be that of the database.
      client.on('error', () => undefined)
      try {
        await client.connect()
        await client.query(`BEGIN; LOCK TABLE ${oneOf(['delivery', 'order_state'], draw)} IN EXCLUSIVE MODE`)
      } catch {
        // Nothing is locked then.
      }
      return () => client.end().catch(() => undefined)
    },
  },
  {
    name: 'a revoked key',
    takes: ['accounts'],
    lasts: [2000, 4000],
    begin: async ({ commands, suppliers }, draw) => {
      const supplier = oneOf(suppliers, draw)
      const { email, keyId } = supplier.account
      supplier.beforeDenied()
      await commands.insist('key', 'revoke', keyId)
      supplier.denied()
      return async () => {
        const { id = '', key = '' } = await commands.insist('key', 'issue', '--customer', email)
        supplier.allowed({ id, key })
      }
    },
  },
  {
    name: 'a disabled customer',
    takes: ['accounts'],
    lasts: [2000, 4000],
    async begin({ commands, suppliers }, draw) {
      const supplier = oneOf(suppliers, draw)
      const { email } = supplier.account
      supplier.beforeDenied()
      await commands.insist('customer', 'disable', email)
      supplier.denied()
      return async () => {
        // It may deliver again as soon as the command has done it, which is before it ends.
        supplier.allowed()
        await commands.insist('customer', 'enable', email)
      }
    },
  },
  {
    name: 'wrong keys',
    takes: ['callers'],
    lasts: [0, 500],
    async begin({ site, judge, reader: { abort } }, draw) {
      const guess = async (number: number): Promise<void> => {
        const headers = { ApiKey: `tsl_${String(number).padStart(38, 'x')}`, 'x-forwarded-for': `203.0.113.${number}` }
        const request = { method: 'POST', headers, body: '{"OrderID":"none","Status":1}', signal: abort } as const
        const answer = await ask(`${oneOf(site.replicas, draw).url}/Purchase/update`, request).catch(() => undefined)
        if (answer !== undefined && ![401, 429, 503].includes(answer.status))
          judge.problem(`a wrong key was answered ${answer.status}: ${answer.body}`)
      }
      const guesses = Promise.all(Array.from({ length: WRONG_KEYS }, (_, number) => guess(number)))
      return async () => void (await guesses)
    },
  },
  {
    name: 'unread readers',
    takes: ['callers'],
    lasts: [2000, 6000],
    async begin({ site, reader: { operator, abort } }, draw) {
      const sockets: Socket[] = []
      for (let number = 0; number < UNREAD_READERS; number++) {
        const { url } = oneOf(site.replicas, draw)
        const token = await logIn(url, operator, AbortSignal.any([abort, AbortSignal.timeout(10_000)])).catch(() => '')
        const stream = number % 2 === 0 ? '' : 'Accept: text/event-stream\r\n'
        const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => undefined)
        socket.pause()
        socket.write(
          `GET /Purchase/feed?limit=100 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n${stream}\r\n`,
        )
        sockets.push(socket)
      }
      return () => {
        for (const socket of sockets) socket.destroy()
      }
    },
  },
]

/** Does it again and again until the end that it returns, which waits for the last time. */
function repeated(work: (isOn: () => boolean) => Promise<unknown>): () => Promise<void> {
  let isOn = true
  const again = async (): Promise<void> => {
    while (isOn) await work(() => isOn)
  }
  const done = again()
  // Whoever ends it is told.
  done.catch(() => undefined)
  return () => {
    isOn = false
    return done
  }
}

/** Bytes that a full disk has left: none, a few pages, or room for a while. */
const leftOver = (draw: Draw): number => Math.floor(oneOf([0, 65_536, MIB, 8 * MIB, 20 * MIB], draw))

/** Another process with an open transaction, which ends in order or is killed. */
async function hold({ path, where }: Site, sql: string, draw: Draw): Promise<End> {
  const program = `
    const database = new (require('node:sqlite').DatabaseSync)(${JSON.stringify(path)}, { timeout: 5000 })
    database.exec(${JSON.stringify(sql)})
    console.log('held')
    process.stdin.resume().on('end', () => database.close())`
  const child = spawn(process.execPath, ['-e', program], { cwd: where.cwd, stdio: ['pipe', 'pipe', 'ignore'] })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  child.stdin.on('error', () => undefined)
  // Another fault may keep it from getting what it wants.
  await Promise.race([ended, new Promise((resolve) => child.stdout.once('data', resolve))])
  const isKilled = draw() < 0.5
  return () => {
    if (isKilled) child.kill('SIGKILL')
    else child.stdin.end()
    return ended
  }
}

/** A server must be given back as it was, whatever becomes of the run. */
export const releaseAll = (replicas: readonly Replica[]): void => {
  for (const { server, connections } of replicas) {
    server()?.child.kill('SIGCONT')
    connections.mend()
  }
}
