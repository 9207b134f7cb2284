CREATE TABLE account_version (
  number INTEGER NOT NULL
) STRICT;

CREATE TABLE api_key (
  id         TEXT    NOT NULL PRIMARY KEY,
  customer   INTEGER NOT NULL REFERENCES customer (number),
  hash       BLOB    NOT NULL UNIQUE,
  label      TEXT    NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  revoked_at INTEGER,
  successor  TEXT,
  networks   TEXT,
  rate_limit INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX api_key_customer ON api_key (customer, id);

CREATE TABLE api_key_use (
  key_id  TEXT    NOT NULL PRIMARY KEY REFERENCES api_key (id),
  used_at INTEGER NOT NULL,
  address TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE audit_event (
  number      INTEGER NOT NULL PRIMARY KEY,
  at          INTEGER NOT NULL,
  actor       TEXT    NOT NULL,
  action      TEXT    NOT NULL,
  customer_id TEXT,
  address     TEXT,
  request_id  TEXT,
  details     TEXT    NOT NULL,
  refusal     TEXT,
  order_id    TEXT,
  order_key   INTEGER,
  key_id      TEXT
) STRICT;

CREATE INDEX audit_event_at ON audit_event (at);

CREATE INDEX audit_event_customer ON audit_event (customer_id, at) WHERE customer_id IS NOT NULL;

CREATE INDEX audit_event_order ON audit_event (order_key, refusal) WHERE order_key IS NOT NULL;

CREATE INDEX audit_event_order_customer ON audit_event (order_key, customer_id, refusal) WHERE order_key IS NOT NULL;

CREATE INDEX audit_event_refusal ON audit_event (customer_id, refusal) WHERE refusal IS NOT NULL;

CREATE INDEX audit_event_refused ON audit_event (refusal) WHERE refusal IS NOT NULL;

CREATE INDEX audit_event_request ON audit_event (request_id, at) WHERE request_id IS NOT NULL;

CREATE TABLE authority_rule (
  customer INTEGER NOT NULL REFERENCES customer (number),
  rule     TEXT    NOT NULL,
  PRIMARY KEY (customer, rule)
) STRICT, WITHOUT ROWID;

CREATE TABLE block_customers (
  block     INTEGER PRIMARY KEY,
  customers BLOB NOT NULL
) STRICT;

CREATE TABLE console_session (
  id         TEXT    NOT NULL PRIMARY KEY,
  digest     BLOB    NOT NULL UNIQUE,
  customer   INTEGER NOT NULL REFERENCES customer (number),
  region     TEXT    NOT NULL,
  auth_at    INTEGER NOT NULL,
  idle_until INTEGER NOT NULL,
  ends_at    INTEGER NOT NULL,
  address    TEXT    NOT NULL,
  agent      TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX console_session_customer ON console_session (customer, auth_at);

CREATE TRIGGER customer_attempts_erased AFTER UPDATE OF erased_at ON customer WHEN NEW.erased_at IS NOT NULL
BEGIN
  DELETE FROM webhook_attempt WHERE customer = NEW.number;
END;

CREATE TABLE customer (
  number            INTEGER NOT NULL PRIMARY KEY,
  id                TEXT    NOT NULL UNIQUE,
  email             TEXT    NOT NULL UNIQUE,
  password_hash     TEXT    NOT NULL,
  is_api            INTEGER NOT NULL CHECK (is_api IN (0, 1)),
  scope             TEXT    NOT NULL CHECK (scope IN ('customer', 'feed', 'operator:support', 'operator:read', 'operator')),
  payloads          INTEGER NOT NULL DEFAULT 0 CHECK (payloads IN (0, 1)),
  enabled           INTEGER NOT NULL CHECK (enabled IN (0, 1)),
  token_generation  TEXT    NOT NULL,
  created_at        INTEGER NOT NULL,
  erased_at         INTEGER,
  name              TEXT    NOT NULL DEFAULT '',
  note              TEXT    NOT NULL DEFAULT '',
  disabled_reason   TEXT    NOT NULL DEFAULT '',
  silence           INTEGER
) STRICT;

CREATE TABLE customer_region (
  customer INTEGER NOT NULL REFERENCES customer (number),
  region   TEXT    NOT NULL,
  PRIMARY KEY (customer, region)
) STRICT, WITHOUT ROWID;

CREATE TABLE delivery (
  position    INTEGER NOT NULL PRIMARY KEY,
  receipt     BLOB    NOT NULL,
  customer    INTEGER NOT NULL,
  order_id    TEXT,
  status      INTEGER NOT NULL,
  received_at INTEGER NOT NULL,
  echo_of     INTEGER,
  previous    INTEGER,
  erased      INTEGER,
  payload     BLOB    NOT NULL,
  origin      BLOB
) STRICT;

CREATE UNIQUE INDEX delivery_receipt ON delivery (receipt);

CREATE TABLE delivery_block (
  block    INTEGER NOT NULL,
  customer INTEGER NOT NULL,
  offsets  TEXT    NOT NULL,
  PRIMARY KEY (block, customer)
) STRICT, WITHOUT ROWID;

CREATE TABLE delivery_hour (
  customer  INTEGER NOT NULL,
  hour      INTEGER NOT NULL,
  status    INTEGER NOT NULL,
  duplicate INTEGER NOT NULL CHECK (duplicate IN (0, 1)),
  count     INTEGER NOT NULL,
  PRIMARY KEY (customer, hour, status, duplicate)
) STRICT, WITHOUT ROWID;

CREATE TABLE idempotency (
  number   INTEGER NOT NULL PRIMARY KEY,
  customer INTEGER NOT NULL,
  key      TEXT    NOT NULL,
  position INTEGER NOT NULL,
  kept_at  INTEGER NOT NULL,
  UNIQUE (customer, key)
) STRICT;

CREATE TABLE login_failure (
  name       BLOB    NOT NULL PRIMARY KEY,
  count      INTEGER NOT NULL,
  last_at    INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX login_failure_expires_at ON login_failure (expires_at);

CREATE TABLE moved (
  target TEXT    NOT NULL,
  at     INTEGER NOT NULL
) STRICT;

CREATE TABLE order_state (
  customer        INTEGER NOT NULL,
  order_id        TEXT    NOT NULL,
  status          INTEGER NOT NULL,
  state_position  INTEGER NOT NULL,
  latest_position INTEGER NOT NULL,
  digest          BLOB    NOT NULL,
  PRIMARY KEY (customer, order_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE purge (
  generation   INTEGER NOT NULL,
  position     INTEGER NOT NULL,
  announced    INTEGER NOT NULL,
  done_before  INTEGER NOT NULL,
  leased_until INTEGER NOT NULL,
  erasures     INTEGER NOT NULL
) STRICT;

CREATE TABLE purge_held (
  webhook    TEXT    NOT NULL PRIMARY KEY,
  deliveries INTEGER NOT NULL,
  last       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE refusal_hour (
  customer INTEGER NOT NULL,
  hour     INTEGER NOT NULL,
  action   TEXT    NOT NULL,
  code     TEXT    NOT NULL,
  count    INTEGER NOT NULL,
  PRIMARY KEY (customer, hour, action, code)
) STRICT, WITHOUT ROWID;

CREATE TABLE refused_delivery (
  number      INTEGER NOT NULL PRIMARY KEY,
  refusal     TEXT    NOT NULL UNIQUE,
  at          INTEGER NOT NULL,
  customer_id TEXT    NOT NULL,
  key_id      TEXT    NOT NULL,
  order_id    TEXT,
  order_key   INTEGER,
  error_code  TEXT    NOT NULL,
  message     TEXT    NOT NULL,
  request_id  TEXT    NOT NULL,
  address     TEXT    NOT NULL,
  payload     BLOB    NOT NULL
) STRICT;

CREATE INDEX refused_delivery_customer ON refused_delivery (customer_id, refusal);

CREATE INDEX refused_delivery_order ON refused_delivery (order_key, refusal) WHERE order_key IS NOT NULL;

CREATE INDEX refused_delivery_order_customer ON refused_delivery (order_key, customer_id, refusal) WHERE order_key IS NOT NULL;

CREATE TABLE refused_tally (
  bytes    INTEGER NOT NULL,
  removed  INTEGER NOT NULL,
  not_kept INTEGER NOT NULL
) STRICT;

CREATE TABLE roll_up (
  position INTEGER NOT NULL
) STRICT;

CREATE TABLE schema_migration (
    number     integer NOT NULL PRIMARY KEY,
    name       text    NOT NULL,
    checksum   text    NOT NULL,
    applied_at bigint  NOT NULL,
    oldest     integer NOT NULL,
    version    text    NOT NULL
  );

CREATE TABLE service_secret (
  name  TEXT NOT NULL PRIMARY KEY,
  value BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE signing_key (
  kid         TEXT    NOT NULL PRIMARY KEY,
  algorithm   TEXT    NOT NULL,
  private_jwk TEXT    NOT NULL,
  created_at  INTEGER NOT NULL,
  expires_at  INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE unordered_time (
  high INTEGER PRIMARY KEY,
  low  INTEGER NOT NULL
) STRICT;

CREATE TABLE webhook (
  id            TEXT    NOT NULL PRIMARY KEY,
  url           TEXT    NOT NULL,
  customer_id   TEXT,
  statuses      TEXT,
  duplicates    INTEGER NOT NULL CHECK (duplicates IN (0, 1)),
  ca            TEXT,
  give_up       INTEGER,
  created_at    INTEGER NOT NULL,
  secret        TEXT    NOT NULL,
  former_secret TEXT,
  former_until  INTEGER,
  headers       TEXT,
  former_filter TEXT,
  paused_reason TEXT,
  paused_at     INTEGER,
  version       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE webhook_attempt (
  number       INTEGER NOT NULL PRIMARY KEY,
  webhook      TEXT    NOT NULL,
  at           INTEGER NOT NULL,
  position     INTEGER,
  receipt      TEXT,
  customer     INTEGER,
  status       INTEGER,
  error        TEXT,
  milliseconds INTEGER NOT NULL,
  response     TEXT,
  next_at      INTEGER
) STRICT;

CREATE INDEX webhook_attempt_at ON webhook_attempt (at);

CREATE INDEX webhook_attempt_customer ON webhook_attempt (customer, position) WHERE customer IS NOT NULL;

CREATE INDEX webhook_attempt_webhook ON webhook_attempt (webhook);

CREATE TABLE webhook_confirmed (
  webhook TEXT    NOT NULL,
  block   INTEGER NOT NULL,
  at      INTEGER NOT NULL,
  entries BLOB    NOT NULL,
  PRIMARY KEY (webhook, block, at)
) STRICT, WITHOUT ROWID;

CREATE INDEX webhook_confirmed_at ON webhook_confirmed (webhook, at);

CREATE TABLE webhook_minute (
  webhook   TEXT    NOT NULL,
  minute    INTEGER NOT NULL,
  succeeded INTEGER NOT NULL,
  failed    INTEGER NOT NULL,
  longest   INTEGER NOT NULL,
  PRIMARY KEY (webhook, minute)
) STRICT, WITHOUT ROWID;

CREATE INDEX webhook_minute_minute ON webhook_minute (minute);

CREATE TABLE webhook_progress (
  webhook         TEXT    NOT NULL PRIMARY KEY,
  position        INTEGER NOT NULL,
  waiting         INTEGER NOT NULL,
  failing         INTEGER NOT NULL,
  set_aside       INTEGER NOT NULL,
  removed         INTEGER NOT NULL,
  journal_bytes   INTEGER NOT NULL,
  last_success_at INTEGER,
  failing_since   INTEGER,
  silent_until    INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE webhook_replay (
  webhook    TEXT    NOT NULL PRIMARY KEY,
  from_after INTEGER NOT NULL,
  until      INTEGER NOT NULL,
  position   INTEGER NOT NULL,
  statuses   TEXT,
  began_at   INTEGER NOT NULL,
  added      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE webhook_waiting (
  webhook         TEXT    NOT NULL,
  position        INTEGER NOT NULL,
  lane            INTEGER NOT NULL,
  failures        INTEGER NOT NULL,
  first_failed_at INTEGER,
  next_at         INTEGER,
  set_aside_at    INTEGER,
  last_error      TEXT,
  answered        INTEGER NOT NULL CHECK (answered IN (0, 1)),
  replayed        INTEGER NOT NULL CHECK (replayed IN (0, 1)),
  PRIMARY KEY (webhook, position)
) STRICT, WITHOUT ROWID;

CREATE INDEX webhook_waiting_answered ON webhook_waiting (webhook, answered, next_at) WHERE failures > 0 AND set_aside_at IS NULL;

CREATE INDEX webhook_waiting_due ON webhook_waiting (webhook, next_at) WHERE next_at IS NOT NULL;

CREATE INDEX webhook_waiting_failed ON webhook_waiting (webhook, first_failed_at) WHERE first_failed_at IS NOT NULL AND set_aside_at IS NULL;

CREATE INDEX webhook_waiting_lane ON webhook_waiting (webhook, lane, position) WHERE set_aside_at IS NULL;

CREATE INDEX webhook_waiting_replayed ON webhook_waiting (webhook, position) WHERE replayed AND failures = 0 AND set_aside_at IS NULL;

CREATE INDEX webhook_waiting_set_aside ON webhook_waiting (webhook, position) WHERE set_aside_at IS NOT NULL;
