import { apiKeys } from '../sql/api-keys.ts'
import { audit } from '../sql/audit.ts'
import { consoleSessions } from '../sql/console-sessions.ts'
import { customers } from '../sql/customers.ts'
import { deliveryReads } from '../sql/deliveries/deliveries.ts'
import { loginFailures } from '../sql/login-failures.ts'
import { purges } from '../sql/purges.ts'
import { refused } from '../sql/refused.ts'
import { secrets } from '../sql/secrets.ts'
import { signingKeys } from '../sql/signing-keys.ts'
import { webhooks } from '../sql/webhooks/webhooks.ts'
import { type Answer, type AnyOperation, type Mode, methodsOf, type Noun, type Work } from '../sql/work.ts'
import { type Database, withoutSync } from './database.ts'
import { createBlockWalk } from './deliveries/block-walk.ts'
import { sqlite } from './dialect.ts'
import { filePurges } from './purges.ts'
import { counting } from './roll-ups.ts'
import type { StoreThread } from './thread/store-thread.ts'
import type { Writer } from './thread/writer.ts'
import { emptyLog, wipeRefused, withSecureDelete } from './wiping.ts'

const createNouns = () => ({
  secrets: secrets(sqlite),
  signingKeys: signingKeys(sqlite),
  customers: customers(sqlite),
  apiKeys: apiKeys(sqlite),
  purges: { ...purges(sqlite), ...filePurges },
  audit: audit(sqlite),
  rollUps: counting,
  refused: { ...refused(sqlite), wipePages: wipeRefused },
  loginFailures: loginFailures(sqlite),
  consoleSessions: consoleSessions(sqlite),
  webhooks: webhooks(sqlite),
  deliveries: deliveryReads(sqlite, { lastLeft: () => 'SELECT NULL', walkBackOf: createBlockWalk() }),
})

const nouns = createNouns()

export function finish<Result>(database: Database, work: Work<Result>): Result {
  let step = work.next()
  while (!step.done) {
    const { sql, values } = step.value
    let answer: Answer
    try {
      answer = database.ask(sql, values)
    } catch (error) {
      step = work.throw(error)
      continue
    }
    step = work.next(answer)
  }
  return step.value
}

/** Runs an operation in the thread that has the database. */
function perform({ mode, work }: AnyOperation, database: Database, args: readonly unknown[]): unknown {
  const run = () => finish(database, work(...(args as readonly never[])))
  if (mode === 'snapshot') return database.savepoint(run)
  if (mode === 'write' || mode === 'queue' || mode === 'change') return database.transaction(run)
  if (mode === 'progress') return withoutSync(database, run)
  if (mode !== 'wipe' && mode !== 'scrub') return run()
  const result = withSecureDelete(database, run)
  // The log would hold the old text until it is overwritten. While another process reads the log, it stays.
  if (mode === 'scrub' && result === true) finish(database, emptyLog())
  return result
}

/** All operations, for the threads. Some remember what they have read through their connection. */
export const boundNouns = (database: Database) =>
  Object.fromEntries(
    Object.entries(createNouns()).map(([name, noun]) => [
      name,
      methodsOf(
        noun as never,
        (operation) =>
          (...args) =>
            perform(operation, database, args),
      ),
    ]),
  )

export interface Connections {
  /** The connection of the calling thread, for look-ups of single rows. */
  readonly database: Database
  readonly writer: Writer
  readonly reader: StoreThread
}

type Nouns = typeof nouns
type PortOf<Name extends keyof Nouns> = Nouns[Name] extends Noun<infer Port> ? Port : never

/** Where the operations of each mode run. */
const performers = ({ writer, reader }: Connections) =>
  ({
    lookUp: undefined,
    find: undefined,
    walk: reader,
    poll: undefined,
    follow: reader,
    snapshot: reader,
    write: writer,
    queue: writer,
    progress: writer,
    change: writer,
    alone: writer,
    wipe: writer,
    scrub: writer,
  }) satisfies Record<Mode, StoreThread | undefined>

export function sqliteNoun<Name extends keyof Nouns>(noun: Name, connections: Connections): PortOf<Name> {
  const threads = performers(connections)
  return methodsOf(nouns[noun] as Noun<PortOf<Name>>, (operation, name) => {
    const thread = threads[operation.mode]
    if (thread !== undefined) return (...args) => thread.run(noun, name, args)
    return async (...args) => perform(operation, connections.database, args)
  })
}
