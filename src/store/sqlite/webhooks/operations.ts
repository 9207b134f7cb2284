import type { Database } from '../database.ts'
import type { StoreThread } from '../thread/store-thread.ts'

// Every other part of the store is written as operations for both databases (docs/decisions/0051).

/** Methods of a port as functions of a database, which a thread with a connection of its own runs. */
export type Operations<Port> = {
  readonly [Name in keyof Port]?: Port[Name] extends (...args: infer Args) => Promise<infer Result>
    ? (database: Database, ...args: Args) => Result
    : never
}

type Bound<Work> = {
  readonly [Name in keyof Work]: Work[Name] extends (database: Database, ...args: infer Args) => infer Result
    ? (...args: Args) => Result
    : never
}

type Sent<Work> = {
  readonly [Name in keyof Bound<Work>]: Bound<Work>[Name] extends (...args: infer Args) => infer Result
    ? (...args: Args) => Promise<Result>
    : never
}

type Operation = (...args: readonly unknown[]) => unknown

const mapOperations = <Result>(work: object, change: (operation: Operation, name: string) => Operation): Result =>
  Object.fromEntries(Object.entries(work).map(([name, operation]) => [name, change(operation, name)])) as Result

/** Returns methods that run the operations here, on this database. */
export const bindOperations = <Work extends object>(work: Work, database: Database): Bound<Work> =>
  mapOperations(
    work,
    (operation) =>
      (...args) =>
        operation(database, ...args),
  )

/** Returns methods that let a thread run the operations. The thread finds them by their names. */
export const sendOperations = <Work extends object>(work: Work, { run }: StoreThread): Sent<Work> =>
  mapOperations(
    work,
    (_, name) =>
      (...args) =>
        run('webhooks', name, args),
  )
