/**
 * SQL for the history that a server continues: its cluster, and the timeline, of which every promotion begins a new one with a
 * higher number. NULL at a standby.
 */
export const TIMELINE = `CASE WHEN NOT pg_is_in_recovery()
    THEN (SELECT system_identifier FROM pg_control_system()) || '/' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8) END`

/** Positive if the first server was promoted later, 0 if both continue the same history or that is not known. */
export function compareTimelines(one: string | null, other: string | null): number {
  const [cluster, number = ''] = one?.split('/') ?? []
  const [otherCluster, otherNumber = ''] = other?.split('/') ?? []
  if (cluster === undefined || cluster !== otherCluster) return 0
  return Number.parseInt(number, 16) - Number.parseInt(otherNumber, 16)
}
