/** What an erasure cannot reach, and what it has to leave. */
export const erasures = {
  UNREACHED_BACKUPS: 'backups and copies of the store',
  UNREACHED_SENT: 'what followers of the feed have taken, and what was sent to endpoints',
  UNREACHED_KEPT:
    'what stays as it was: order ids, idempotency keys until they expire, and the audit log, with client addresses, request ids and product codes of refusals',
  UNREACHED_AUDIT:
    'the audit log, which has client addresses, networks of keys, refused product codes, and labels of keys issued by earlier versions under the id',
  UNREACHED_INDEXES:
    'copies of order ids, idempotency keys and request ids in unused parts of index pages, until "teslim purge --rewrite"',
  UNREACHED_DATABASE: 'dead rows until VACUUM (FULL), the archived log, and replicas of the database',

  PAGES_LEFT:
    'unused parts of pages may still hold what was erased, since there are many: run {command} beside the server',
  LOG_LEFT: 'the log beside the file may still hold what was removed, since {reason}: run {command} again',
  LOG_IS_READ: 'another process reads the log',
  THIS_COMMAND: 'this command',
} as const
