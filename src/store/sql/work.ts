export type Row = Readonly<Record<string, unknown>>
/** An array is one value: `Dialect` has what reads it. */
export type Value = string | number | bigint | boolean | Uint8Array | readonly unknown[] | null

export interface Statement {
  readonly sql: string
  readonly values: readonly Value[]
}

/** `count` is the number of rows that were returned or changed. */
export interface Answer {
  readonly rows: readonly Row[]
  readonly count: number
}

/** The steps of an operation: each statement that it yields is run, and its answer comes back. SQLite answers at once, PostgreSQL is awaited. */
export type Work<Result> = Generator<Statement, Result, Answer>

export function* ask(sql: string, ...values: readonly Value[]): Work<Answer> {
  return yield { sql, values }
}

export function* all(sql: string, ...values: readonly Value[]): Work<readonly Row[]> {
  return (yield { sql, values }).rows
}

export function* get(sql: string, ...values: readonly Value[]): Work<Row | undefined> {
  return (yield { sql, values }).rows[0]
}

/** Returns what `read` makes of each row. */
export function* allAs<Result>(read: (row: Row) => Result, ...statement: Parameters<typeof all>): Work<Result[]> {
  return (yield* all(...statement)).map((row) => read(row))
}

/** Returns what `read` makes of the row, if there is one. */
export function* getAs<Result>(
  read: (row: Row) => Result,
  ...statement: Parameters<typeof get>
): Work<Result | undefined> {
  const row = yield* get(...statement)
  return row && read(row)
}

/** Returns whether there is a row. */
export function* isThere(...statement: Parameters<typeof get>): Work<boolean> {
  return (yield* get(...statement)) !== undefined
}

/** Returns whether any row was changed. */
export function* changed(...statement: Parameters<typeof run>): Work<boolean> {
  return (yield* run(...statement)) > 0
}

type Words<Text extends string> = Text extends `${infer First} ${infer Rest}` ? First | Words<Rest> : Text
type Exactly<One, Other> = [One, Other] extends [Other, One] ? unknown : never

/**
 * Returns what makes objects of rows: `fields<ApiKeyUse>()('keyId usedAt address')` reads `key_id`, `used_at` and `address`, as they are. It
 * does not compile with a field too few or too many.
 */
export const fields =
  <Result>() =>
  <Names extends string>(names: Names & Exactly<Words<Names>, keyof Result>): ((row: Row) => Result) => {
    const columns = names
      .split(' ')
      .map((name) => [name, name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)])
    return (row) => Object.fromEntries(columns.map(([name, column]) => [name, row[column as string]])) as Result
  }

/** Returns the number of rows changed. */
export function* run(sql: string, ...values: readonly Value[]): Work<number> {
  return (yield { sql, values }).count
}

/**
 * Where an operation runs: see `performers` of each database.
 * - `lookUp` reads single rows that a delivery waits for, `find` others.
 * - `walk` may read many rows.
 * - `poll` is a `find`, and `follow` a `walk`, whose rows followers go on from: on PostgreSQL, what they read must not be lost in a failover.
 * - `snapshot` may read many rows of one state, and `queue` is a `write`: both find rows by indexes, whatever the statistics say of a
 *   table that is empty now and has a million rows soon, and so do `wipe` and `scrub`. `progress` is a `queue` that a power cut may undo, and does not wait for the disk.
 * - `write` is a transaction. `change` is a single statement, or several that need none: only SQLite runs them in one.
 * - `alone` is a write that must not be in a transaction.
 * - `wipe` is a transaction that also overwrites what rows held before; `scrub` also empties the log, if it resolves to true.
 */
export type Mode =
  | 'lookUp'
  | 'find'
  | 'walk'
  | 'poll'
  | 'follow'
  | 'snapshot'
  | 'write'
  | 'queue'
  | 'progress'
  | 'change'
  | 'alone'
  | 'wipe'
  | 'scrub'

export interface Operation<Args extends readonly unknown[], Result> {
  readonly mode: Mode
  readonly work: (...args: Args) => Work<Result>
}

/** A part of the port, as operations. One that is missing, or takes or gives something else, does not compile. */
export type Noun<Port> = {
  readonly [Name in keyof Port]: Port[Name] extends (...args: infer Args) => Promise<infer Result>
    ? Operation<Args, Result>
    : never
}

const inMode =
  (mode: Mode) =>
  <Args extends readonly unknown[], Result>(work: (...args: Args) => Work<Result>): Operation<Args, Result> => ({
    mode,
    work,
  })

export const lookUp = inMode('lookUp')
export const find = inMode('find')
export const walk = inMode('walk')
export const poll = inMode('poll')
export const follow = inMode('follow')
export const snapshot = inMode('snapshot')
export const write = inMode('write')
export const queue = inMode('queue')
export const progress = inMode('progress')
export const change = inMode('change')
export const alone = inMode('alone')
export const wipe = inMode('wipe')
export const scrub = inMode('scrub')

export type AnyOperation = Operation<readonly never[], unknown>

/** Makes the methods of a port from its operations. */
export const methodsOf = <Port>(
  noun: Noun<Port>,
  method: (operation: AnyOperation, name: string) => (...args: readonly never[]) => unknown,
): Port =>
  Object.fromEntries(
    Object.entries<AnyOperation>(noun as never).map(([name, operation]) => [name, method(operation, name)]),
  ) as Port
