import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { ask } from '../app/ask.ts'
import { pace } from '../until.ts'
import { runPrepared } from './prepared-commands.ts'
import type { RunOptions } from './process.ts'

export interface Acknowledged {
  readonly receipt: string
  readonly order: string
  readonly body: string
}

/** What was answered, kept outside the server: the judge of every fault. */
export interface Load {
  /** Answered 200, in the order of the answers. */
  readonly acknowledged: Acknowledged[]
  /** Bodies that were refused, which a store that said so must not hold. */
  refusedButStored(path: string): string[]
  /** How often each other status was answered; 0 is no answer at all. */
  readonly others: Map<number, number>
  /** Resolves once this many more deliveries were answered 200. */
  more(count: number): Promise<void>
  /** Sends nothing more and resolves once all clients have their answers. */
  stop(): Promise<void>
}

export interface LoadOptions {
  readonly url: string
  readonly key: string
  readonly clients?: number
  /** How long bodies are at most, but for some 80 bytes. */
  readonly bytes?: number
  /** Milliseconds between an answer and the next delivery of a client. */
  readonly pause?: number
  /** Told of every answer; `receipt` is undefined unless it is a 200. */
  readonly onAnswer?: (status: number, milliseconds: number) => void
}

export const SUPPLIER_EMAIL = 'a@b.co'

/** Without these pauses the clients of one test would take both cores from all others. Eight of them deliver 320 times a second at most. */
const PAUSE_MILLISECONDS = 25
const REFUSED_PAUSE_MILLISECONDS = 40

/** Leaves a refused client a moment before it tries again. */
export const pauseAfterRefusal = (): Promise<void> => pace(REFUSED_PAUSE_MILLISECONDS)

let sent = 0

/** Clients that deliver one after the other until they are stopped. Each goes on after a refusal or a broken connection. */
export function deliver({
  url,
  key,
  clients = 8,
  bytes = 2000,
  pause = PAUSE_MILLISECONDS,
  onAnswer = () => undefined,
}: LoadOptions): Load {
  const acknowledged: Acknowledged[] = []
  const others = new Map<number, number>()
  const refused: string[] = []
  const waiting = new Set<{ readonly count: number; readonly resolve: () => void }>()
  let stopped = false

  const send = async (order: string, body: string): Promise<number> => {
    const answer = await ask(`${url}/Purchase/update`, { method: 'POST', headers: { ApiKey: key }, body })
    const { data } = JSON.parse(answer.body) as { data: { ReceiptID: string } }
    if (answer.status === 200) acknowledged.push({ receipt: data.ReceiptID, order, body })
    return answer.status
  }
  const client = async (number: number): Promise<void> => {
    while (!stopped) {
      const order = `order-${number}-${sent % 3}`
      const body = `{"OrderID":"${order}", "Status":${sent % 4}, "n":${sent++}, "filler":"${'x'.repeat((sent * 7919) % bytes)}"}`
      const start = performance.now()
      const status = await send(order, body).catch(() => 0)
      onAnswer(status, performance.now() - start)
      if (status >= 400) refused.push(body)
      if (status !== 200) others.set(status, (others.get(status) ?? 0) + 1)
      for (const each of waiting) if (acknowledged.length >= each.count) each.resolve()
      await (status === 200 ? pace(pause) : pauseAfterRefusal())
    }
  }
  const all = Promise.all(Array.from({ length: clients }, (_, number) => client(number)))

  return {
    acknowledged,
    others,
    refusedButStored(path) {
      const database = new DatabaseSync(path, { readOnly: true })
      const stored = new Set(
        database
          .prepare('SELECT payload FROM delivery')
          .all()
          .map(({ payload }) => String(Buffer.from(payload as Uint8Array))),
      )
      database.close()
      return refused.filter((body) => stored.has(body))
    },
    async more(count) {
      const { promise, resolve } = Promise.withResolvers<void>()
      const each = { count: acknowledged.length + count, resolve }
      waiting.add(each)
      await promise
      waiting.delete(each)
    },
    async stop() {
      stopped = true
      await all
    },
  }
}

/** A customer that may deliver everything, in a new store unless there is one; resolves to its API key. */
export const keyOfSupplier = async (where: RunOptions): Promise<string> => (await makeSupplier(where)).key

interface Supplier {
  readonly id: string
  readonly password: string
  readonly keyId: string
  readonly key: string
}

/** Stores with one customer, by its flags: made once and copied, as two commands each time would take longer than most faults. */
const prepared = new Map<string, Promise<{ readonly data: string; readonly supplier: Supplier }>>()

async function prepare(flags: readonly string[]) {
  const cwd = mkdtempSync(join(tmpdir(), 'teslim-test-'))
  process.once('exit', () => rmSync(cwd, { recursive: true, force: true }))
  return { data: join(cwd, 'data'), supplier: await runCommands({ cwd, env: { NODE_ENV: 'production' } }, flags) }
}

/** A customer with an API key in the store of a server that runs as a process, made by the command line. */
export async function makeSupplier({ cwd, env = {} }: RunOptions, flags: readonly string[] = ['--allow', '*']) {
  if ('DATABASE_URL' in env || existsSync(join(cwd, 'data'))) return runCommands({ cwd, env }, flags)
  const name = flags.join(' ')
  if (!prepared.has(name)) prepared.set(name, prepare(flags))
  const { data, supplier } = (await prepared.get(name)) as Awaited<ReturnType<typeof prepare>>
  cpSync(data, join(cwd, 'data'), { recursive: true })
  return supplier
}

async function runCommands(where: RunOptions, flags: readonly string[]): Promise<Supplier> {
  const run = async (...args: string[]) => JSON.parse((await runPrepared([...args, '--json'], where)).stdout)
  const { id, password } = await run('customer', 'add', '--email', SUPPLIER_EMAIL, '--generate', ...flags)
  const { id: keyId, key } = await run('key', 'issue', '--customer', id)
  return { id, password, keyId, key }
}

/** The deliveries that are not in the file with the bytes that were acknowledged. The file itself must be sound. */
export function missingFrom(path: string, acknowledged: readonly Acknowledged[]): Acknowledged[] {
  const payloads = payloadsIn(
    path,
    acknowledged.map(({ receipt }) => receipt),
  )
  return acknowledged.filter(({ body }, index) => payloads[index] !== body)
}

/** The receipts that are not in the file, which must be sound. */
export function receiptsMissingFrom(path: string, receipts: readonly string[]): string[] {
  const payloads = payloadsIn(path, receipts)
  return receipts.filter((_receipt, index) => payloads[index] === undefined)
}

function payloadsIn(path: string, receipts: readonly string[]): (string | undefined)[] {
  const database = new DatabaseSync(path)
  try {
    const check = JSON.stringify(database.prepare('PRAGMA integrity_check').all())
    if (check !== '[{"integrity_check":"ok"}]') throw new Error(`${path} is damaged: ${check}`)
    const find = database.prepare(`SELECT payload FROM delivery WHERE receipt = unhex(?, '-')`)
    return receipts.map((receipt) => {
      const payload = find.get(receipt)?.payload as Uint8Array | undefined
      return payload && Buffer.from(payload).toString()
    })
  } finally {
    database.close()
  }
}
