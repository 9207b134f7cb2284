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
