import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { onTestFinished } from 'vitest'
import { atTheEnd } from '../at-the-end.ts'
import { until } from '../until.ts'
import { type PostgresServer, startPostgres } from './postgres-server.ts'

interface Node {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly Plans?: readonly Node[]
}

/** What one execution of a statement looked at, also one within a function. */
export interface Executed {
  readonly sql: string
  /** Of the step of its plan that looked at the most rows, together with those that it left out. */
  readonly rows: number
  readonly plan: string
}

export interface Watch {
  /** Runs a call. Nothing else may use the database meanwhile. */
  during<Result>(name: string, work: () => Result | Promise<Result>): Promise<Result>
  /** Resolves to what ran during each call, in their order. */
  executed(): Promise<(readonly [name: string, Executed])[]>
}

export interface ExplainingServer {
  readonly server: PostgresServer
  watch(url: string): Promise<Watch>
}

/** teslim then takes each connection to the database for one through a pooler: it prepares nothing, and plans know the values. */
export const AS_BEHIND_A_POOLER = `
  CREATE SCHEMA odd;
  CREATE FUNCTION odd.pg_backend_pid() RETURNS integer LANGUAGE sql AS 'SELECT 0';
  DO $$ BEGIN
    EXECUTE format('ALTER DATABASE %I SET search_path = odd, pg_catalog, public', current_database());
  END $$`

/** A server that writes down the plan of everything it runs, with all rows counted, and gathers no statistics by itself. */
export async function startExplainingPostgres(): Promise<ExplainingServer> {
  const explain = ['min_duration = 0', 'analyze = on', 'timing = off', 'nested_statements = on', "format = 'json'"]
  const server = await startPostgres({
    settings: [
      'autovacuum = off',
      'logging_collector = on',
      'log_destination = jsonlog',
      "log_directory = 'plans'",
      "log_filename = 'plans'",
      'log_rotation_age = 0',
      'log_rotation_size = 0',
      "shared_preload_libraries = 'auto_explain'",
      ...explain.map((setting) => `auto_explain.log_${setting}`),
    ],
  })
  atTheEnd(() => server.remove())
  return { server, watch: (url) => watch(url, join(server.data, 'plans/plans.json')) }
}

/** Runs a statement of its own after each call, which parts the plans that are written down. */
async function watch(url: string, path: string): Promise<Watch> {
  const client = new pg.Client(url)
  await client.connect()
  onTestFinished(() => client.end())
  const start = statSync(path).size
  const names: string[] = []
  const mark = (number: number): Promise<unknown> => client.query(`SELECT 'mark ${number} in ${url}'`)
  return {
    async during(name, work) {
      if (names.length === 0) await mark(0)
      const result = await work()
      await mark(names.push(name))
      return result
    },
    async executed() {
      let lines: string[] = []
      await until('the plans are written down', () => {
        lines = readFrom(path, start).split('\n')
        return lines.at(-2)?.includes(`mark ${names.length} in ${url}`) === true
      })
      const database = new URL(url).pathname.slice(1)
      let place = -1
      return lines.flatMap((line) => {
        if (line.includes(`in ${url}'`)) place++
        const name = names[place]
        return name === undefined ? [] : executedOf(line, database).map((executed) => [name, executed] as const)
      })
    },
  }
}

function readFrom(path: string, start: number): string {
  const bytes = Buffer.alloc(statSync(path).size - start)
  const file = openSync(path, 'r')
  readSync(file, bytes, 0, bytes.length, start)
  closeSync(file)
  return bytes.toString()
}

function executedOf(line: string, database: string): Executed[] {
  if (!line.includes('plan:')) return []
  const { dbname, message } = JSON.parse(line) as { dbname: string; message: string }
  if (dbname !== database) return []
  const { Plan: plan, 'Query Text': sql } = JSON.parse(message.slice(message.indexOf('{'))) as {
    Plan: Node
    'Query Text': string
  }
  return [
    {
      sql,
      rows: Math.max(...nodesOf(plan).map(lookedAt)),
      plan: JSON.stringify(plan, KEPT, 1),
    },
  ]
}

const KEPT = [
  ...['Plan', 'Plans', 'Node Type', 'Relation Name', 'Alias', 'Index Name', 'Index Cond', 'Filter', 'Join Filter'],
  ...['Actual Rows', 'Actual Loops', 'Rows Removed by Filter', 'Rows Removed by Join Filter', 'Subplan Name'],
]

const nodesOf = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)]

/** The figures are averages of the loops. */
function lookedAt(node: Node): number {
  const removed = Object.entries(node).filter(([name]) => name.startsWith('Rows Removed by'))
  const each = node['Actual Rows'] + removed.reduce((sum, [, rows]) => sum + Number(rows), 0)
  return Math.round(each * node['Actual Loops'])
}
