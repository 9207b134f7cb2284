import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import type { Value } from '../sql/work.ts'
import { translated } from './failures.ts'

export type Row = Record<string, unknown>
export type Values = readonly (string | number | bigint | Uint8Array | null)[]

export type Statement = ReturnType<typeof prepareStatement>

export function prepareStatement(connection: DatabaseSync, sql: string) {
  const numbers = Array.from(sql.matchAll(/\$(\d+)/g), ([, number]) => Number(number))
  // `$1`, `$2`, ... in order, once each: bound by position, which is faster than by name.
  const inOrder = numbers.every((number, index) => number === index + 1)
  const statement = connection.prepare(inOrder ? sql.replace(/\$\d+/g, '?') : sql)
  const names = statement.columns().map(({ name }) => name)
  // The objects that Node makes of rows are slow to make and to read: those of `rowOf` take half as long.
  statement.setReturnArrays(true)

  const query = <Result>(method: 'get' | 'all' | 'run', values: Values): Result => {
    try {
      const result = inOrder ? statement[method](...(values as SQLInputValue[])) : statement[method](named(values))
      return result as Result
    } catch (error) {
      throw translated(error)
    }
  }

  const rowOf = (values: readonly unknown[]): Row => {
    const row: Row = {}
    for (let place = 0; place < names.length; place++) row[names[place] as string] = values[place]
    return row
  }

  return {
    /** How many values it takes. */
    parameters: Math.max(0, ...numbers),
    // A PRAGMA without columns may take several steps, of which `run` makes the first only.
    returnsRows: names.length > 0 || sql.startsWith('PRAGMA'),
    get(values: Values): Row | undefined {
      const row = query<unknown[] | undefined>('get', values)
      return row && rowOf(row)
    },
    all: (values: Values): Row[] => query<unknown[][]>('all', values).map(rowOf),
    run: (values: Values) => query<{ changes: number; lastInsertRowid: number }>('run', values),
  }
}

/** SQLite has neither booleans nor arrays. */
export function sqliteValue(value: Value): Values[number] {
  if (typeof value === 'boolean') return Number(value)
  return Array.isArray(value) ? JSON.stringify(value) : (value as Values[number])
}

/** Binds `$1`, `$2`, ..., which both databases understand, by name. */
const named = (values: Values): Record<string, SQLInputValue> =>
  Object.fromEntries(values.map((value, index) => [index + 1, value]))
