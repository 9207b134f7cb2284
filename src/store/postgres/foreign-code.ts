import type { Migration } from '../migrate.ts'
import type { Query } from './database.ts'

/** Begins a table, or a column in it that has a rule. PostgreSQL names the rule after both. */
const RULES = /^(?:CREATE|ALTER) TABLE (\w+)|^ +(?:ADD COLUMN )?(\w+) .*?\b(UNIQUE|CHECK|REFERENCES)\b/gm
const ENDINGS: Readonly<Record<string, string>> = { UNIQUE: 'key', CHECK: 'check', REFERENCES: 'fkey' }
/** Is there while deploy/postgres/partition-by-month.sql runs. */
const BEFORE_PARTITIONS = 'delivery_until'
const NAMED = /^CREATE (?:(?:UNIQUE )?INDEX|TRIGGER) (\w+)/gm

/** Returns the names of the tables that the migrations make, and of what they make on them. */
function namesIn(migrations: readonly Migration[]) {
  const sql = migrations.map((migration) => migration.sql).join('\n')
  const tables = new Set(['schema_migration'])
  const names = [BEFORE_PARTITIONS, ...[...sql.matchAll(NAMED)].map(([, name]) => name as string)]
  let table = ''
  for (const [, begun, column, rule = ''] of sql.matchAll(RULES)) {
    table = begun ?? table
    if (begun === undefined) names.push(`${table}_${column}_${ENDINGS[rule]}`)
    else tables.add(table)
  }
  return { tables: [...tables], names }
}

/**
 * What runs or refuses when a row of a table of ours, or of one of its partitions, is written. An index of plain columns does neither. With a
 * check of its own a partition is attached without being read.
 */
const FOREIGN = `
  WITH ours AS (SELECT to_regclass(name) AS oid FROM unnest($1::text[]) name),
       tables AS (SELECT oid FROM ours WHERE oid IS NOT NULL
                   UNION SELECT inhrelid FROM pg_inherits JOIN ours ON inhparent = ours.oid)
  SELECT kind, name, "table"::regclass::text AS "table"
    FROM (SELECT 'trigger' AS kind, tgname AS name, tgrelid AS "table" FROM pg_trigger WHERE NOT tgisinternal
           UNION ALL
          SELECT 'rule', rulename, ev_class FROM pg_rewrite
           UNION ALL
          SELECT 'policy', polname, polrelid FROM pg_policy
           UNION ALL
          SELECT 'constraint', conname, unnest(ARRAY[conrelid, confrelid]) FROM pg_constraint
           WHERE contype = 'f' OR (contype = 'c' AND conrelid NOT IN (SELECT inhrelid FROM pg_inherits))
           UNION ALL
          SELECT 'index', relname, indrelid FROM pg_index JOIN pg_class ON oid = indexrelid
           WHERE NOT indisprimary AND (indisunique OR indisexclusion OR indexprs IS NOT NULL OR indpred IS NOT NULL)) found
   WHERE "table" IN (SELECT oid FROM tables) AND name <> ALL ($2::text[])
   ORDER BY kind, name LIMIT 1`

/** Says what others have put on our tables that runs with what is written, and could silence the audit log; undefined if nothing. */
export async function whyForeign(
  query: Query,
  known: readonly Migration[],
  applied: number,
): Promise<string | undefined> {
  // What a newer version has made cannot be judged.
  if (applied > known.length) return undefined
  const { tables, names } = namesIn(known.slice(0, applied))
  const [found] = (await query(FOREIGN, tables, names)).rows
  if (found === undefined) return undefined
  return `The ${found.kind} ${JSON.stringify(found.name)} on the table ${found.table} is not one that teslim makes, and can keep changes and events of the audit log from being stored: remove it. Of others, only indexes of plain columns that are not unique may be there.`
}
