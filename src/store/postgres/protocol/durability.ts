import pg from 'pg'

/** With one of these off a commit that was confirmed may not survive a crash of the server. */
const SETTINGS = ['synchronous_commit', 'fsync', 'full_page_writes']

const MARK = 'teslim refuses to store with'

/** The settings as `name=value` with spaces between. */
export const DURABILITY = `concat_ws(' ', ${SETTINGS.map((name) => `'${name}=' || current_setting('${name}')`).join(', ')})`

const SAFE = SETTINGS.map((name) => `current_setting('${name}') <> 'off'`).join(' AND ')

/**
 * `expression`, or a statement that fails before it has stored anything. Settings change while sessions last, and a pooler
 * gives each statement another one: only the statement that commits can tell what its commit is worth. The words fail
 * as an input of the type, as no function of SQL raises an error by itself.
 */
export const ifDurable = (expression: string, type: string): string =>
  `CASE WHEN ${SAFE} THEN ${expression}::${type} ELSE ('${MARK} ' || ${DURABILITY})::${type} END`

/** Names the settings that are wrong, in an operator's words; undefined if none is. */
export function whyNotDurable(durability: string): string | undefined {
  const off = Array.from(durability.matchAll(/(\w+)=off/g), ([, name]) => name as string)
  if (off.length === 0) return undefined
  const how = off.map((name) => `ALTER SYSTEM SET ${name} = on;`).join(' ')
  return `The database has ${off.join(' and ')} off, so it could lose deliveries that were confirmed: turn it on, for the role and the database too (${how} SELECT pg_reload_conf()).`
}

/** Names the settings for which `ifDurable` raised an error. */
export const whyRefused = (error: unknown): string | undefined =>
  error instanceof pg.DatabaseError && error.message.includes(MARK) ? whyNotDurable(error.message) : undefined
