import { spawnSync } from 'node:child_process'
import { runSql } from '../postgres/postgres-server.ts'

const TABLES = `
  SELECT oid::regclass::text AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema::regnamespace ORDER BY 1`

/** Every row of every table of a database, as text. */
export async function everyRow(url: string): Promise<string[]> {
  const all: string[] = []
  for (const { name } of await runSql(url, TABLES))
    for (const { row } of await runSql(url, `SELECT t::text AS row FROM ${name} t ORDER BY 1`))
      all.push(`${name} ${row}`)
  return all
}

/** What of a store holds a text: its file and the log beside it, byte for byte; rows of a database, also as bytes. */
export async function holding(databaseUrl: string, text: string): Promise<string[]> {
  if (databaseUrl.startsWith('sqlite:')) {
    const path = databaseUrl.slice('sqlite:'.length)
    // Another process, because one that closes a file loses its locks on it.
    const { stdout } = spawnSync('grep', ['-lsaF', text, path, `${path}-wal`], { encoding: 'utf8' })
    return stdout.split('\n').filter((name) => name !== '')
  }
  const spellings = [text, Buffer.from(text).toString('hex')]
  return (await everyRow(databaseUrl)).filter((row) => spellings.some((spelling) => row.includes(spelling)))
}
