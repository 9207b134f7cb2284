import pg from 'pg'

/** With one of these settings off, a confirmed commit may not survive a crash of the server. */
const SETTINGS = ['synchronous_commit', 'fsync', 'full_page_writes']

const MARK = 'teslim refuses to store with'

/** SQL for the settings as `name=value`, separated by spaces. */
export const DURABILITY = `concat_ws(' ', ${SETTINGS.map((name) => `'${name}=' || current_setting('${name}')`).join(', ')})`

const SAFE = SETTINGS.map((name) => `current_setting('${name}') <> 'off'`).join(' AND ')

/**
 * SQL for `expression` that fails before anything is stored unless the settings are safe. They are checked by the statement
 * that commits, because they may change during a session and a pooler may switch sessions between statements. SQL has no
 * function that raises an error, so it casts a text that is no value of the type.
 */
export const ifDurable = (expression: string, type: string): string =>
  `CASE WHEN ${SAFE} THEN ${expression}::${type} ELSE ('${MARK} ' || ${DURABILITY})::${type} END`

/** Explains to an operator which settings are off; undefined if none is. */
export function whyNotDurable(durability: string): string | undefined {
  const off = Array.from(durability.matchAll(/(\w+)=off/g), ([, name]) => name as string)
  if (off.length === 0) return undefined
  const how = off.map((name) => `ALTER SYSTEM SET ${name} = on;`).join(' ')
  return `The database has ${off.join(' and ')} off, so it could lose deliveries that were confirmed: turn it on, for the role and the database too (${how} SELECT pg_reload_conf()).`
}

/** Explains an error that `ifDurable` raised; undefined for other errors. */
export const whyRefused = (error: unknown): string | undefined =>
  error instanceof pg.DatabaseError && error.message.includes(MARK) ? whyNotDurable(error.message) : undefined
