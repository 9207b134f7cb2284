import type { DatabaseSync } from 'node:sqlite'
import { runSql } from '../postgres/postgres-server.ts'

/** What a store consists of, in lines that are the same where it is the same in both databases. */
export type Facts = ReadonlySet<string>

type Line = Readonly<Record<string, unknown>>

/** What SQLite has for a type of PostgreSQL. */
const TYPES: Readonly<Record<string, string>> = {
  ...{ bigint: 'INTEGER', integer: 'INTEGER', smallint: 'INTEGER', boolean: 'INTEGER' },
  ...{ text: 'TEXT', bytea: 'BLOB', uuid: 'BLOB' },
}

/** Their first rows have times. */
const OF_THEIR_TIME: readonly unknown[] = ['schema_migration', 'history']

const SQLITE_COLUMNS = `
  SELECT t.name AS "table", c.name, c.type, c."notnull" OR c.pk AS required, c.dflt_value AS preset
    FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table'`

const SQLITE_FACTS = `
  SELECT t.name || ' PRIMARY KEY (' || group_concat(c.name, ', ' ORDER BY c.pk) || ')' AS fact
    FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table' AND c.pk GROUP BY t.name
   UNION ALL
  SELECT t.name || ' FOREIGN KEY (' || k."from" || ') REFERENCES ' || k."table" || '(' || k."to" || ')'
    FROM sqlite_schema t, pragma_foreign_key_list(t.name) k WHERE t.type = 'table'
   UNION ALL
  SELECT t.name || iif(i."unique", ' UNIQUE', '') || iif(i.origin = 'c', ' INDEX ' || i.name, '') || ' ('
         || (SELECT group_concat(c.name, ', ' ORDER BY c.seqno) FROM pragma_index_info(i.name) c) || ')'
         || iif(i.partial, (SELECT substr(s.sql, instr(s.sql, ' WHERE ')) FROM sqlite_schema s WHERE s.name = i.name), '')
    FROM sqlite_schema t, pragma_index_list(t.name) i WHERE t.type = 'table' AND i.origin <> 'pk'
   UNION ALL
  SELECT tbl_name || ' TRIGGER ' || name FROM sqlite_schema WHERE type = 'trigger'`

const CHECK = / CHECK \((?:[^()]|\([^()]*\))+\)/g

export function factsOfSqlite(database: DatabaseSync): Facts {
  const all = (sql: string): Line[] => database.prepare(sql).all()
  const tables = all(`SELECT name, sql FROM sqlite_schema WHERE type = 'table'`)
  return new Set([
    ...all(SQLITE_COLUMNS).map(columnFact),
    ...all(SQLITE_FACTS).map(({ fact }) => String(fact)),
    ...tables.flatMap(({ name, sql }) => Array.from(String(sql).matchAll(CHECK), ([check]) => `${name}${check}`)),
    ...tables.flatMap(({ name }) => all(`SELECT * FROM ${name}`).map((row) => rowFact(name, row))),
  ])
}

const TABLES = `pg_class t JOIN pg_namespace n ON n.oid = t.relnamespace AND n.nspname = current_schema() AND t.relkind = 'r'`

const POSTGRES_COLUMNS = `
  SELECT t.relname AS "table", a.attname AS name, format_type(a.atttypid, NULL) AS type, a.attnotnull AS required,
         regexp_replace(pg_get_expr(d.adbin, d.adrelid), '::\\w+$', '') AS preset
    FROM ${TABLES} JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped
    LEFT JOIN pg_attrdef d ON d.adrelid = t.oid AND d.adnum = a.attnum`

const POSTGRES_FACTS = `
  SELECT t.relname || ' ' || pg_get_constraintdef(k.oid, true) AS fact
    FROM ${TABLES} JOIN pg_constraint k ON k.conrelid = t.oid AND k.contype <> 'n'
   UNION ALL
  SELECT t.relname || regexp_replace(pg_get_indexdef(i.indexrelid, 0, true), '^CREATE( UNIQUE)? INDEX (\\w+) ON \\w+ USING btree', '\\1 INDEX \\2')
    FROM ${TABLES} JOIN pg_index i ON i.indrelid = t.oid AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = i.indexrelid)
   UNION ALL
  SELECT t.relname || ' TRIGGER ' || g.tgname FROM ${TABLES} JOIN pg_trigger g ON g.tgrelid = t.oid AND NOT g.tgisinternal`

export async function factsOfPostgres(url: string): Promise<Facts> {
  const columns = await runSql(url, POSTGRES_COLUMNS)
  const facts = await runSql(url, POSTGRES_FACTS)
  const tables = [...new Set(columns.map(({ table }) => table))]
  const rows = tables.map((table) => `SELECT '${table}' AS "table", to_jsonb(r) AS row FROM ${table} r`)
  return new Set([
    ...columns.map(columnFact),
    // SQLite allows two numbers where PostgreSQL has a boolean, and one where that is the key of the only row.
    ...columns.flatMap(({ table, name, type }) =>
      type === 'boolean' && name !== 'one' ? [`${table} CHECK (${name} IN (0, 1))`] : [],
    ),
    ...facts.map(({ fact }) => inSqlite(String(fact))),
    ...(await runSql(url, rows.join(' UNION ALL '))).map(({ table, row }) => rowFact(table, row as Line)),
  ])
}

const columnFact = ({ table, name, type, required, preset }: Line): string =>
  [`${table}.${name}`, TYPES[String(type)] ?? type, required && 'NOT NULL', preset !== null && `DEFAULT ${preset}`]
    .filter(Boolean)
    .join(' ')

const rowFact = (table: unknown, row: Line): string => {
  const values = Object.entries(row).map(([column, value]) => `${column} ${value === true ? 1 : value}`)
  return `${table} ROW ${OF_THEIR_TIME.includes(table) ? '' : values.toSorted()}`
}

/** A `number` at the end of an index is the rowid in SQLite, which ends each index there, and NULL comes first in all of them. */
const inSqlite = (fact: string): string =>
  fact
    .replaceAll('"', '')
    .replaceAll('::text', '')
    .replace(/ = ANY \(ARRAY\[(.*)\]\)\)$/, ' IN ($1))')
    .replace(/( INDEX \w+ \(.*), number\)/, '$1)')
    .replace(' NULLS FIRST', '')
    .replace('CHECK (one)', 'CHECK (one = 1)')
