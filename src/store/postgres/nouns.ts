import { type Answer, type AnyOperation, type Mode, methodsOf, type Noun, type Work } from '../sql/work.ts'
import type { Database, Query } from './database.ts'

export async function finish<Result>(query: Query, work: Work<Result>): Promise<Result> {
  let step = work.next()
  while (!step.done) {
    const { sql, values } = step.value
    let answer: Answer
    try {
      answer = await query(sql, ...values)
    } catch (error) {
      step = work.throw(error)
      continue
    }
    step = work.next(answer)
  }
  return step.value
}

/** A plan that was made for an empty table may be used for minutes after the table has filled. */
const BY_INDEX = ['seqscan', 'bitmapscan', 'hashjoin', 'mergejoin']
  .map((way) => `SET LOCAL enable_${way} = off`)
  .join('; ')
const SNAPSHOT = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ${BY_INDEX}`
/** A process that stalls must not keep from others for long what it has locked. */
const QUEUE = `BEGIN; SET LOCAL lock_timeout = '3s'; SET LOCAL idle_in_transaction_session_timeout = '3s'; ${BY_INDEX}`

/** Where the operations of each mode run. */
const performers = ({ query, lookUp, followed, transaction }: Database) => {
  const within =
    (begin?: string) =>
    <Result>(work: Work<Result>) =>
      transaction((query) => finish(query, work), begin)
  const inTransaction = within()
  const inQueue = within(QUEUE)
  const byIndex = within(`BEGIN; ${BY_INDEX}`)
  return {
    lookUp: (work) => finish(lookUp, work),
    find: (work) => finish(query, work),
    walk: (work) => finish(query, work),
    poll: (work) => finish(followed, work),
    follow: (work) => finish(followed, work),
    snapshot: within(SNAPSHOT),
    queue: inQueue,
    progress: inQueue,
    change: (work) => finish(query, work),
    alone: (work) => finish(query, work),
    write: inTransaction,
    // The server looks after its own pages.
    wipe: byIndex,
    scrub: byIndex,
  } satisfies Record<Mode, (work: Work<unknown>) => Promise<unknown>>
}

/** Returns methods that run the operations here. */
export function postgresNoun<Port>(noun: Noun<Port>, database: Database): Port {
  const perform = performers(database)
  return methodsOf(
    noun,
    ({ mode, work }: AnyOperation) =>
      (...args) =>
        perform[mode](work(...args)),
  )
}
