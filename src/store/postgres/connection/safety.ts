import pg from 'pg'

/** With one of these settings off, a confirmed commit may not survive a crash of the server. */
const SETTINGS = ['synchronous_commit', 'fsync', 'full_page_writes']

/** Whether commits have to wait for a standby. */
export type Standby = 'off' | 'required'

const MARK = 'teslim refuses to store with'
const NO_STANDBY = 'no synchronous standby'

/** Explains to an operator why nothing is confirmed. */
export const WHY_NO_STANDBY =
  "TESLIM_DATABASE_STANDBY is required, but commits of the database wait for no standby, so it could lose deliveries that were confirmed: name one (ALTER SYSTEM SET synchronous_standby_names = '...'; SELECT pg_reload_conf()) with synchronous_commit on, or set TESLIM_DATABASE_STANDBY to off."

/** SQL that tells whether commits wait for a standby. */
export const WAITS_FOR_STANDBY = `(current_setting('synchronous_standby_names') <> '' AND current_setting('synchronous_commit') NOT IN ('off', 'local'))`

/** SQL for the settings as `name=value`, separated by spaces. */
export const DURABILITY = `concat_ws(' ', ${SETTINGS.map((name) => `'${name}=' || current_setting('${name}')`).join(', ')})`

const SAFE = SETTINGS.map((name) => `current_setting('${name}') <> 'off'`).join(' AND ')

/**
 * SQL for `expression` that fails before anything is stored unless the settings are safe. They are checked by the statement
 * that commits, because they may change during a session and a pooler may switch sessions between statements. SQL has no
 * function that raises an error, so it casts a text that is no value of the type.
 */
export function ifDurable(expression: string, type: string, standby: Standby): string {
  const [safe, refused] =
    standby === 'off'
      ? [SAFE, DURABILITY]
      : [
          `${SAFE} AND ${WAITS_FOR_STANDBY}`,
          `${DURABILITY} || CASE WHEN ${WAITS_FOR_STANDBY} THEN '' ELSE ', ${NO_STANDBY}' END`,
        ]
  return `CASE WHEN ${safe} THEN ${expression}::${type} ELSE ('${MARK} ' || ${refused})::${type} END`
}

/** Explains to an operator which settings are off; undefined if none is. */
export function whyNotDurable(durability: string): string | undefined {
  const off = Array.from(durability.matchAll(/(\w+)=off/g), ([, name]) => name as string)
  if (off.length === 0) return undefined
  const how = off.map((name) => `ALTER SYSTEM SET ${name} = on;`).join(' ')
  return `The database has ${off.join(' and ')} off, so it could lose deliveries that were confirmed: turn it on, for the role and the database too (${how} SELECT pg_reload_conf()).`
}

/** Explains an error that `ifDurable` raised; undefined for other errors. */
export function whyRefused(error: unknown): string | undefined {
  if (!(error instanceof pg.DatabaseError && error.message.includes(MARK))) return undefined
  return whyNotDurable(error.message) ?? (error.message.includes(NO_STANDBY) ? WHY_NO_STANDBY : undefined)
}

/** SQL for the isolation of transactions. */
export const ISOLATION = `current_setting('transaction_isolation')`

/**
 * Explains to an operator behind a pooler, where the isolation cannot be set for a session, why it is unsafe; undefined if it
 * is not. PostgreSQL treats `read uncommitted` as `read committed`.
 */
export const whyUnsafeIsolation = (isolation: string): string | undefined =>
  /^read (?:un)?committed$/.test(isolation)
    ? undefined
    : `Behind a pooler the database must have default_transaction_isolation = 'read committed', but has '${isolation}', so it could store deliveries of customers who are being erased: change it, for the role and the database too (ALTER SYSTEM SET default_transaction_isolation = 'read committed'; SELECT pg_reload_conf()), and restart the pooler.`
