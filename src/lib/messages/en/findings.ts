/** What doctor finds, and parts of it. */
export const findings = {
  MORE: 'and {count} more',

  // Node, settings, network, certificate
  PROGRAM: 'teslim {version}, {form}',
  PROGRAM_OF_COMMIT: 'teslim {version}, {form}, built from commit {commit}',
  RUN_FROM_CHECKOUT: 'run from a checkout',
  NPM_PACKAGE: 'installed as an npm package',
  SINGLE_EXECUTABLE: 'a single executable',
  IN_CONTAINER: 'in the container',
  NODE_OR_CONTAINER: 'Node {version} or later, or the container',
  NODE_WITHIN: 'an executable that contains Node {version} or later',
  NODE_SAFE: '{version}',
  NODE_OLD: '{version} lacks security fixes: in production use {needed}',
  NODE_FOR_TRYING: '{version} is enough for trying; in production use {needed}',
  SETTINGS_VALID: 'all {count} are valid: see teslim config',
  SETTING_NOTE: '{note}',
  SETTING_WRONG: '{problem}',
  NETWORK_LOCAL: 'HOST {host}: this machine only',
  NETWORK_TLS: 'HOST {host}, with TLS',
  NETWORK_OPEN:
    'HOST {host} is open to the network without TLS: set TESLIM_TLS_CERT, or keep it behind a proxy that has TLS, since passwords, keys and tokens can be read on the way',
  NETWORK_NOT_PRODUCTION: 'NODE_ENV is not production, and anything else is for trying on one machine: set it',
  METRICS_OPEN:
    'TESLIM_OPS_HOST {host} shows the metrics to everybody who reaches port {port}, without a token: admit only the monitoring to it',
  OPERATORS_FROM: 'operators are served from {networks:list} only',
  OPERATORS_BEHIND_PROXY:
    'TESLIM_OPERATOR_NETWORKS judges the address that connects, and behind a proxy that is the proxy for every client: name it in TESLIM_TRUST_PROXY, or serve TLS without one (TESLIM_TLS_CERT)',
  DATABASE_UNVERIFIED:
    'the connection to {hosts:list} is not verified, so that others on the way could read the password and all deliveries: set sslmode=verify-full in DATABASE_URL, with sslrootcert=FILE for an authority of your own',
  CERTIFICATE_SOUND: '{path}, for {names:list}, expires on {on:day}',
  CERTIFICATE_EXPIRES_SOON: '{path}, for {names:list}, expires on {on:day}: replace it, then send the server SIGHUP',
  CERTIFICATE_REFUSED: '{path}: {reason}, so clients refuse it: replace it, then SIGHUP',
  CERTIFICATE_EXPIRED: 'the certificate expired on {on:day}',
  CERTIFICATE_NOT_YET_VALID: 'the certificate is not valid before {on:day}',
  CERTIFICATE_FAILED: '{reason}',

  // Files and the disk
  FILES_OPEN: 'group or others may read or write password hashes and keys: chmod 600 {files}',
  FOLDER_OPEN:
    'group or others may enter the data folder: chmod 700 {folder}; if it has other things in it, move the store to a folder of its own',
  FOLDER_CLOSED: '{folder} is open to its owner only',
  DISK_ENOUGH: '{free:size} free for {folder}',
  DISK_SHORT: '{free:size} free for {folder}: make room; on a full disk deliveries are refused with 503',
  SECRET_FILE_MOUNTED: '{variable} {path}: see on the host who may read it',
  SECRET_FILE_CLOSED: '{variable} {path} is closed to other users',
  SECRET_FILE_OPEN: '{variable}: other users may read or change {path}: chmod 600 {path}',
  ENV_FILE_OPEN: '.env holds {names:list}, and group or others have rights to it: chmod 600 .env',
  GROWTH_YEARS: '{perDay:size} a day in the last {period:day|days}: the disk has room for more than ten years',
  GROWTH_DAYS: '{perDay:size} a day in the last {period:day|days}: the disk has room for {left:day|days}',
  GROWTH_FULL: '{perDay:size} a day in the last {period:day|days}: the disk is full in {left:day|days}, make room',
  LOG_SMALL: 'the file that ends in -wal has {size:size}, and may have {limit:size} on this disk',
  LOG_LARGE:
    'the file that ends in -wal has {size:size}, and may have {limit:size} on this disk; beyond that deliveries are refused with 503: make room, and end the backup or other program that reads an old state',
  BACKUP_NONE: 'teslim backup has made none: see teslim backup --help',
  BACKUP_JUST_MADE: 'the last one was made within the last hour, at {at:time}',
  BACKUP_RECENT: 'the last one was made {ago:hour|hours} ago, at {at:time}',
  BACKUP_OLD: 'the last one was made {ago:hour|hours} ago, at {at:time}: make one, and see why no later one was made',
  BACKUP_LEFT: '{path} was left by a backup that was killed: see why; the next backup removes it',
  BACKUP_UNKNOWN: 'its record, beside the store, cannot be read, so when the last one was made is unknown: {reason}',

  // The store
  STORE_SOUND: '{url} answers and is at the schema of this version',
  STORE_PENDING:
    '{url} lacks {migrations:list}: run teslim migrate (or the next start applies them), then teslim doctor again',
  STORE_NOT_YET: '{url} is not there yet: the first start creates it',
  STORE_FAILED: '{reason}',
  NOT_FROM_HERE: 'not looked at: see to it where PostgreSQL runs',
  FILE_UNDAMAGED: 'the file is undamaged',
  FILE_DAMAGED: 'the file is damaged, restore a backup: {found}',
  AUDIT_NOT_WRITABLE: 'the audit log cannot be written, so changes are refused and refusals are not listed: {reason}',
  AUDIT_WAITS:
    'since {since:time} refusals could not be written to the audit log, and {count:event waits|events wait} in memory: {reason}',
  FILE_NOT_CHECKED: 'not checked, since the file has {size:size}: run {command}',
  SERVER_NONE: 'no server uses the file',
  SERVER_RUNS: '{server} uses the file',
  PROCESS_SINCE: 'process {pid} on {host} (since {since:time})',
  LOCK_HELD: 'the server holds its lock on the file',
  LOCK_LOST:
    'the server holds no lock on its file, so another program could delete its log: restart it, and let nothing but SQLite open the file',
  LOCK_OF_OTHERS: '{programs:list} may hold up deliveries: it has a write lock on the file',
  DATABASE_SOUND: '{version}',
  DATABASE_OLD: '{version} is too old: PostgreSQL 14 or later is needed',
  DATABASE_UNFIT: '{reason}',
  DATABASE_OPEN:
    'every role of the database server may connect to this database, and stop all deliveries by holding a lock: REVOKE CONNECT, TEMPORARY ON DATABASE ... FROM PUBLIC, and GRANT CONNECT to the roles that need it',
  TIMELINE: 'timeline {timeline}',
  TIMELINE_UNKNOWN: 'PostgreSQL does not tell this role its timeline',
  FAILOVER_NONE: '{timeline}; deliveries have gone on without a failover since the store was made',
  FAILOVER_LEFT:
    '{timeline}; the last failover or recovery, noticed at {at:time}, left {left}, and cursors after that are refused with DELIVERIES_LOST',
  FAILOVER_RECENT:
    '{timeline}; the last failover or recovery, noticed at {at:time}, left {left}, and cursors after that are refused with DELIVERIES_LOST; unless a synchronous standby took over, later ones are lost: suppliers must send them again (docs/postgresql.md, "When a failover lost deliveries")',
  LEFT_NONE: 'no delivery',
  LEFT_UP_TO: 'deliveries up to {receipt}',
  CLOCKS_AGREE: 'this machine and the database agree within 2 s',
  CLOCK_AHEAD:
    'this machine is {seconds} s ahead of the database: synchronise both (NTP), since tokens, keys and times of receipt go by it',
  CLOCK_BEHIND:
    'this machine is {seconds} s behind the database: synchronise both (NTP), since tokens, keys and times of receipt go by it',
  CLOCK_SET_BACK:
    '{count:delivery was|deliveries were} received later than it is now: the clock was set back, check it (NTP)',
  CLOCK_SET_BACK_FAR:
    'at least {count:delivery was|deliveries were} received later than it is now: the clock was set back, check it (NTP)',
  CONNECTIONS_ENOUGH: '{used} of {most} connections are in use',
  CONNECTIONS_SHORT:
    '{used} of {most} connections are in use: too few are left for one more replica (TESLIM_DATABASE_POOL {pool}): raise max_connections',
  STANDBY_SYNCHRONOUS: 'commits wait for a synchronous standby',
  STANDBY_UNUSED:
    '{count:standby is|standbys are} connected, but commits wait for none, so a failover may lose deliveries that were confirmed: name one in synchronous_standby_names, with synchronous_commit on',
  PARTITIONS_ENOUGH: 'deliveries have partitions until {until:day}',
  PARTITIONS_END:
    'deliveries have partitions until {until:day}; after that deliveries are refused: make more with teslim_make_month',
  RETENTION_HELD:
    'deliveries older than TESLIM_RETENTION_DAYS ({days}) stay, because webhook endpoints have not taken them: {endpoints:list}: see teslim webhook show ID; teslim purge --older {days}d --unsent removes them',
  ENDPOINT_KEEPS: '{id} ({count:delivery|deliveries})',

  // Secrets, customers, keys and endpoints
  SECRET_NOT_SET:
    'TESLIM_SECRET is not set, so signing keys are stored unencrypted: set it, restart, then run teslim signing-key rewrap',
  SIGNING_KEYS_NONE: 'none yet: the first login makes one',
  SIGNING_KEYS_OPEN: '{count}, unencrypted',
  SIGNING_KEYS_SEALED: '{count}, encrypted under TESLIM_SECRET',
  SIGNING_KEYS_TO_REWRAP: '{other} of {count} not encrypted under TESLIM_SECRET: run teslim signing-key rewrap',
  SIGNING_KEYS_FAILED: '{reason}',
  CUSTOMERS_NONE: 'none is enabled, so nobody can log in or deliver: see teslim customer add --help',
  CUSTOMERS_ENABLED: '{count} enabled',
  SANDBOX_ENABLED: '{email} was made for trying and may deliver anything: teslim customer disable {email}',
  KEYS_SOUND: '{live} live; none has expired or expires within 14 days without being replaced',
  KEYS_ALL_EXPIRED: 'all keys of {who:list} have expired: issue new ones, or disable the customer',
  KEYS_EXPIRED: '{count} expired and not replaced, issue others or revoke them: {keys:list;}',
  KEYS_EXPIRE_SOON: '{count:expires|expire} within 14 days, issue others: {keys:list;}',
  KEY_ENDS: '{id} of {customer} on {on:day}',
  SUPPLIERS_HEARD: 'none of {count:supplier|suppliers} is silent',
  SUPPLIERS_SILENT:
    '{count:supplier is|suppliers are} silent: {who:list;}: ask them what is wrong, or allow more time with teslim customer set CUSTOMER --silence TIME',
  SUPPLIER_SAID: '{who} {what}',
  SILENT_FOR: 'silent for {time}',
  NEVER_DELIVERED: 'has never delivered in {time}',
  MINUTES: '{count:minute|minutes}',
  HOURS: '{count:hour|hours}',
  DAYS: '{count:day|days}',
  WEBHOOKS_SOUND: '{count:endpoint|endpoints}, none failing or behind',
  WEBHOOKS_SOUND_BUT_PAUSED: '{count:endpoint|endpoints}, none failing or behind, paused: {paused:list;}',
  WEBHOOKS_GONE: 'paused, since they answered 410: {endpoints:list;}: resume them, or remove them',
  WEBHOOKS_RESTORED: 'paused, since the store was restored or copied: {endpoints:list;}: teslim webhook resume ID',
  WEBHOOKS_PAUSED: 'paused, by an operator for more than an hour: {endpoints:list;}: teslim webhook resume ID',
  WEBHOOKS_FAILING: 'failing: {endpoints:list;}: see teslim webhook show ID',
  WEBHOOKS_BEHIND: 'behind by more than {minutes:minute|minutes}: {endpoints:list;}: see teslim webhook show ID',
  WEBHOOK_SINCE: '{id} since {since:time}',
  WEBHOOK_NEXT_TRY: '{endpoint}, next try {at:time}',
  WEBHOOK_SECRETS_TO_REWRAP:
    '{count:secret is|secrets are} not encrypted under TESLIM_SECRET: run teslim signing-key rewrap',
  WEBHOOK_SECRETS_FAILED: '{reason}',

  // Checks that did not end
  CHECK_TOO_LONG:
    'takes longer than 10 s, so neither this nor what follows was looked at: see teslim doctor on the machine',
  CHECK_BROKEN: 'neither this nor what follows could be looked at: {reason}',
} as const
