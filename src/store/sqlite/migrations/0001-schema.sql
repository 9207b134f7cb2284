-- What an embedded store consists of: the same tables as in PostgreSQL, but for those at the end. Times are milliseconds since 1970, unless
-- a comment says otherwise. Each index ends with the rowid, which is the `number` of a table that has one.

-- Customers and API keys

CREATE TABLE customer (
  number           INTEGER PRIMARY KEY, -- stands for the id in larger tables
  id               TEXT    NOT NULL UNIQUE,
  email            TEXT    NOT NULL UNIQUE,
  password_hash    TEXT    NOT NULL,
  is_api           INTEGER NOT NULL CHECK (is_api IN (0, 1)),
  scope            TEXT    NOT NULL CHECK (scope IN ('customer', 'feed', 'operator:support', 'operator:read', 'operator')),
  payloads         INTEGER NOT NULL DEFAULT false CHECK (payloads IN (0, 1)), -- whether operators for support see them; ignored for others
  enabled          INTEGER NOT NULL CHECK (enabled IN (0, 1)),
  token_generation TEXT    NOT NULL, -- random; tokens of another one are refused
  created_at       INTEGER NOT NULL,
  erased_at        INTEGER, -- since then payloads and order ids of its deliveries are erased
  name             TEXT    NOT NULL DEFAULT '', -- empty if there is none, like the next two
  note             TEXT    NOT NULL DEFAULT '',
  disabled_reason  TEXT    NOT NULL DEFAULT '',
  silence          INTEGER -- milliseconds without a delivery after which it is silent, 0 for never; NULL for those of the server
) STRICT;

CREATE TABLE customer_region (
  customer INTEGER NOT NULL REFERENCES customer (number),
  region   TEXT    NOT NULL,
  PRIMARY KEY (customer, region)
) STRICT, WITHOUT ROWID;

CREATE TABLE authority_rule (
  customer INTEGER NOT NULL REFERENCES customer (number),
  rule     TEXT    NOT NULL,
  PRIMARY KEY (customer, rule)
) STRICT, WITHOUT ROWID;

CREATE TABLE api_key (
  id         TEXT    PRIMARY KEY,
  customer   INTEGER NOT NULL REFERENCES customer (number),
  hash       BLOB    NOT NULL UNIQUE, -- SHA-256
  label      TEXT    NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  revoked_at INTEGER,
  successor  TEXT, -- the API key that replaced this one by rotation
  networks   TEXT, -- where it may be used from, joined by commas; NULL for anywhere
  rate_limit INTEGER -- deliveries a minute, 0 for no limit; NULL for that of the server
) STRICT, WITHOUT ROWID;
CREATE INDEX api_key_customer ON api_key (customer, id);

-- Separate from api_key, so that recording a use does not count as a change of the account.
CREATE TABLE api_key_use (
  key_id  TEXT    PRIMARY KEY REFERENCES api_key (id),
  used_at INTEGER NOT NULL,
  address TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

-- One row, incremented with every change of a customer or API key. Caches watch it.
CREATE TABLE account_version (
  number INTEGER NOT NULL,
  one    INTEGER PRIMARY KEY DEFAULT true CHECK (one = 1)
) STRICT;
INSERT INTO account_version (number) VALUES (0);

-- Tokens and secrets

CREATE TABLE signing_key (
  kid         TEXT    PRIMARY KEY,
  algorithm   TEXT    NOT NULL,
  private_jwk TEXT    NOT NULL,
  created_at  INTEGER NOT NULL,
  expires_at  INTEGER -- when it stops verifying tokens
) STRICT, WITHOUT ROWID;

-- Secrets that all processes on one store share, such as the key that seals cursors.
CREATE TABLE service_secret (
  name  TEXT PRIMARY KEY,
  value BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- A name is the digest of an account and an address, of an address, or of an account; the row does not say which. A count of 0
-- records that somebody logged in to an account from an address.
CREATE TABLE login_failure (
  name       BLOB    NOT NULL PRIMARY KEY,
  count      INTEGER NOT NULL,
  last_at    INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX login_failure_expires_at ON login_failure (expires_at);

-- Who is signed in to the console. The cookie of the browser has a reference, of which only the digest is stored.
CREATE TABLE console_session (
  id         TEXT    PRIMARY KEY, -- `sid` of its tokens
  digest     BLOB    NOT NULL UNIQUE, -- SHA-256
  customer   INTEGER NOT NULL REFERENCES customer (number),
  region     TEXT    NOT NULL,
  auth_at    INTEGER NOT NULL, -- when the password was entered
  idle_until INTEGER NOT NULL, -- never after ends_at
  ends_at    INTEGER NOT NULL,
  address    TEXT    NOT NULL,
  agent      TEXT    NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX console_session_customer ON console_session (customer, auth_at);

-- Orders, and what is known of deliveries

CREATE TABLE order_state (
  customer        INTEGER NOT NULL,
  order_id        TEXT    NOT NULL,
  status          INTEGER NOT NULL,
  state_position  INTEGER NOT NULL, -- the delivery that made the state
  latest_position INTEGER NOT NULL, -- the latest delivery, which may be an echo of that one
  digest          BLOB    NOT NULL, -- first half of the SHA-256 of the state's payload
  PRIMARY KEY (customer, order_id)
) STRICT, WITHOUT ROWID;

-- Finds the deliveries of a customer (docs/decisions/0028-blocks-of-positions.md). A block is 4,096 positions, and is added when
-- none of them can come any more. One without deliveries has no row in PostgreSQL, and in a file one with the customer 0.
CREATE TABLE delivery_block (
  block    INTEGER NOT NULL, -- position / 4096
  customer INTEGER NOT NULL,
  offsets  TEXT    NOT NULL, -- position % 4096 of each delivery, in ascending order, separated by commas
  PRIMARY KEY (block, customer)
) STRICT, WITHOUT ROWID;

-- Tells which blocks of delivery_block a customer has rows in. There is a row for each block that was added.
CREATE TABLE block_customers (
  block     INTEGER PRIMARY KEY,
  customers BLOB    NOT NULL -- a bit for each customer, number % 8192, the lowest bit of a byte first
) STRICT;

-- The same of 64 blocks together, so that a walk passes over those in which a customer has nothing. A row is added with the first block that
-- comes after them.
CREATE TABLE span_customers (
  span      INTEGER PRIMARY KEY, -- block / 64
  customers BLOB    NOT NULL
) STRICT;

-- Times of receipt between `low` and `high` do not rise with the positions of their deliveries, because a clock was put back. The
-- row with the greatest `high` also says that every delivery was received by then: within five minutes times have no order anyway.
CREATE TABLE unordered_time (
  high INTEGER PRIMARY KEY,
  low  INTEGER NOT NULL
) STRICT;

-- One row. A follower whose cursor lies before `position` has missed something unless its cursor is of this `generation`: then it
-- was promised only what comes after `announced`.
CREATE TABLE purge (
  generation   INTEGER NOT NULL, -- increases with every purge, before it removes anything
  position     INTEGER NOT NULL, -- of the last delivery in the feed that was removed; changes together with the removal
  announced    INTEGER NOT NULL, -- no purge was ever going to remove a delivery after it
  done_before  INTEGER NOT NULL, -- up to when the server has purged by itself,
  leased_until INTEGER NOT NULL, -- and until when a server is doing so
  erasures     INTEGER NOT NULL, -- increases with every erasure, before it overwrites anything
  one          INTEGER PRIMARY KEY DEFAULT true CHECK (one = 1)
) STRICT;
INSERT INTO purge (generation, position, announced, done_before, leased_until, erasures) VALUES (0, 0, 0, 0, 0, 0);

-- What the last purge of the server kept because an endpoint had not taken it; no row for an endpoint of which it kept nothing.
CREATE TABLE purge_held (
  webhook    TEXT    PRIMARY KEY,
  deliveries INTEGER NOT NULL,
  last       INTEGER NOT NULL -- the greatest of their positions
) STRICT, WITHOUT ROWID;

-- Deliveries by customer and hour. Neither a purge nor an erasure reduces these counts.
CREATE TABLE delivery_hour (
  customer  INTEGER NOT NULL,                             -- 0 for all customers together
  hour      INTEGER NOT NULL,                             -- hours since 1970
  status    INTEGER NOT NULL,
  duplicate INTEGER NOT NULL CHECK (duplicate IN (0, 1)), -- true for echoes
  count     INTEGER NOT NULL,
  PRIMARY KEY (customer, hour, status, duplicate)
) STRICT, WITHOUT ROWID;

-- One row: delivery_hour counts every delivery up to this position, and none after it.
CREATE TABLE roll_up (
  position INTEGER NOT NULL,
  one      INTEGER PRIMARY KEY DEFAULT true CHECK (one = 1)
) STRICT;
INSERT INTO roll_up (position) VALUES (0);

-- The audit log and what was refused

CREATE TABLE audit_event (
  number      INTEGER PRIMARY KEY,
  at          INTEGER NOT NULL,
  actor       TEXT    NOT NULL,
  action      TEXT    NOT NULL,
  customer_id TEXT,
  address     TEXT,
  request_id  TEXT,
  details     TEXT    NOT NULL, -- a JSON object
  -- Set for refused deliveries that are recorded one by one. A refusal is a UUID of version 7: it begins with its time.
  refusal     TEXT,
  order_id    TEXT,
  order_key   INTEGER, -- of a refusal: src/store/sql/order-key.ts
  key_id      TEXT
) STRICT;
CREATE INDEX audit_event_at ON audit_event (at);
CREATE INDEX audit_event_refusal ON audit_event (customer_id, refusal) WHERE refusal IS NOT NULL;
CREATE INDEX audit_event_refused ON audit_event (refusal) WHERE refusal IS NOT NULL;
CREATE INDEX audit_event_order ON audit_event (order_key, refusal) WHERE order_key IS NOT NULL;
CREATE INDEX audit_event_order_customer ON audit_event (order_key, customer_id, refusal) WHERE order_key IS NOT NULL;
CREATE INDEX audit_event_customer ON audit_event (customer_id, at) WHERE customer_id IS NOT NULL;
CREATE INDEX audit_event_request ON audit_event (request_id, at) WHERE request_id IS NOT NULL;

-- Bodies that were refused with a valid API key, if TESLIM_KEEP_REFUSED says to keep them.
CREATE TABLE refused_delivery (
  number      INTEGER PRIMARY KEY,
  refusal     TEXT    NOT NULL UNIQUE, -- that of the audit event, if there is one
  at          INTEGER NOT NULL,
  customer_id TEXT    NOT NULL,
  key_id      TEXT    NOT NULL,
  order_id    TEXT,
  order_key   INTEGER,
  error_code  TEXT    NOT NULL,
  message     TEXT    NOT NULL, -- JSON: what the supplier was told, a text or a message with its code
  request_id  TEXT    NOT NULL,
  address     TEXT    NOT NULL,
  payload     BLOB    NOT NULL
) STRICT;
CREATE INDEX refused_delivery_customer ON refused_delivery (customer_id, refusal);
CREATE INDEX refused_delivery_order ON refused_delivery (order_key, refusal) WHERE order_key IS NOT NULL;
CREATE INDEX refused_delivery_order_customer ON refused_delivery (order_key, customer_id, refusal) WHERE order_key IS NOT NULL;

-- One row.
CREATE TABLE refused_tally (
  bytes    INTEGER NOT NULL, -- of all rows of refused_delivery, as src/store/refused-store.ts counts them
  removed  INTEGER NOT NULL, -- bodies that were removed to make room for later ones
  not_kept INTEGER NOT NULL, -- bodies that were never stored, because too many came at once
  one      INTEGER PRIMARY KEY DEFAULT true CHECK (one = 1)
) STRICT;
INSERT INTO refused_tally (bytes, removed, not_kept) VALUES (0, 0, 0);

CREATE TABLE refusal_hour (
  customer INTEGER NOT NULL, -- 0 for all refusals, also those of unknown customers
  hour     INTEGER NOT NULL, -- hours since 1970
  action   TEXT    NOT NULL, -- as in audit_event
  code     TEXT    NOT NULL,
  count    INTEGER NOT NULL,
  PRIMARY KEY (customer, hour, action, code)
) STRICT, WITHOUT ROWID;

-- Webhooks

CREATE TABLE webhook (
  id            TEXT    PRIMARY KEY, -- version 7 UUID
  url           TEXT    NOT NULL,
  customer_id   TEXT, -- of the only customer whose deliveries are sent; NULL for all
  statuses      TEXT, -- of the deliveries that are sent, separated by commas; NULL for all
  duplicates    INTEGER NOT NULL CHECK (duplicates IN (0, 1)), -- whether duplicates are sent, too
  ca            TEXT, -- certificate authority, as PEM
  give_up       INTEGER, -- milliseconds
  created_at    INTEGER NOT NULL,
  secret        TEXT    NOT NULL, -- sealed
  former_secret TEXT, -- sealed; signs, too, until
  former_until  INTEGER,
  headers       TEXT, -- sealed values by name, as JSON
  former_filter TEXT, -- filters that were changed, and up to which position each was in force, as JSON
  paused_reason TEXT,
  paused_at     INTEGER,
  version       INTEGER NOT NULL -- increases with every change by operators
) STRICT, WITHOUT ROWID;

-- How far each endpoint has come. A table of its own, because it changes many times a second.
CREATE TABLE webhook_progress (
  webhook         TEXT    PRIMARY KEY,
  position        INTEGER NOT NULL, -- wanted deliveries up to here are confirmed, or in webhook_waiting
  waiting         INTEGER NOT NULL, -- rows of webhook_waiting that are not set aside,
  failing         INTEGER NOT NULL, -- those of them that have failed,
  set_aside       INTEGER NOT NULL, -- and the others
  removed         INTEGER NOT NULL, -- deliveries that purges have removed before they were sent
  journal_bytes   INTEGER NOT NULL, -- about what webhook_confirmed takes
  last_success_at INTEGER,
  failing_since   INTEGER,          -- something has failed without a break; NULL if `failing` is 0
  silent_until    INTEGER           -- when it is tried next, if it does not answer
) STRICT, WITHOUT ROWID;

-- Deliveries that an endpoint has not taken. Those that came after its position was read are not here.
CREATE TABLE webhook_waiting (
  webhook         TEXT    NOT NULL,
  position        INTEGER NOT NULL,
  lane            INTEGER NOT NULL,                            -- a digest of customer and order: one of a lane is sent at a time
  failures        INTEGER NOT NULL,
  first_failed_at INTEGER,
  next_at         INTEGER,                                     -- of the first of a lane
  set_aside_at    INTEGER,
  last_error      TEXT,
  answered        INTEGER NOT NULL CHECK (answered IN (0, 1)), -- the last attempt
  replayed        INTEGER NOT NULL CHECK (replayed IN (0, 1)), -- added by a replay
  PRIMARY KEY (webhook, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX webhook_waiting_lane ON webhook_waiting (webhook, lane, position) WHERE set_aside_at IS NULL;
CREATE INDEX webhook_waiting_due ON webhook_waiting (webhook, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX webhook_waiting_answered ON webhook_waiting (webhook, answered, next_at) WHERE failures > 0 AND set_aside_at IS NULL;
CREATE INDEX webhook_waiting_failed ON webhook_waiting (webhook, first_failed_at) WHERE first_failed_at IS NOT NULL AND set_aside_at IS NULL;
CREATE INDEX webhook_waiting_set_aside ON webhook_waiting (webhook, position) WHERE set_aside_at IS NOT NULL;
CREATE INDEX webhook_waiting_replayed ON webhook_waiting (webhook, position) WHERE replayed AND failures = 0 AND set_aside_at IS NULL;

-- The journal of confirmations: one row a save for each block of 4096 positions.
CREATE TABLE webhook_confirmed (
  webhook TEXT    NOT NULL,
  block   INTEGER NOT NULL,
  at      INTEGER NOT NULL,
  entries BLOB    NOT NULL, -- src/store/sql/webhooks/journal.ts
  PRIMARY KEY (webhook, block, at)
) STRICT, WITHOUT ROWID;
CREATE INDEX webhook_confirmed_at ON webhook_confirmed (webhook, at);

-- A stretch of the feed whose deliveries are added to webhook_waiting, a little at a time.
CREATE TABLE webhook_replay (
  webhook    TEXT    PRIMARY KEY,
  from_after INTEGER NOT NULL,
  until      INTEGER NOT NULL,
  position   INTEGER NOT NULL, -- up to which it was added
  statuses   TEXT, -- as in webhook
  began_at   INTEGER NOT NULL,
  added      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Failed attempts, and those that an operator asked for: the newest 500 of an endpoint, for a day.
CREATE TABLE webhook_attempt (
  number       INTEGER PRIMARY KEY,
  webhook      TEXT    NOT NULL,
  at           INTEGER NOT NULL,
  position     INTEGER, -- NULL for a test
  receipt      TEXT,
  customer     INTEGER, -- whose delivery it was
  status       INTEGER,
  error        TEXT,
  milliseconds INTEGER NOT NULL,
  response     TEXT,
  next_at      INTEGER
) STRICT;
CREATE INDEX webhook_attempt_webhook ON webhook_attempt (webhook);
CREATE INDEX webhook_attempt_at ON webhook_attempt (at);
CREATE INDEX webhook_attempt_customer ON webhook_attempt (customer, position) WHERE customer IS NOT NULL;

CREATE TABLE webhook_minute (
  webhook   TEXT    NOT NULL,
  minute    INTEGER NOT NULL, -- its start
  succeeded INTEGER NOT NULL, -- attempts
  failed    INTEGER NOT NULL,
  longest   INTEGER NOT NULL, -- milliseconds
  PRIMARY KEY (webhook, minute)
) STRICT, WITHOUT ROWID;
CREATE INDEX webhook_minute_minute ON webhook_minute (minute);

-- Deliveries

CREATE TABLE delivery (
  position    INTEGER NOT NULL PRIMARY KEY, -- increases in commit order
  receipt     BLOB    NOT NULL,             -- version 7 UUID
  customer    INTEGER NOT NULL,
  order_id    TEXT,
  status      INTEGER NOT NULL,
  received_at INTEGER NOT NULL,
  echo_of     INTEGER,                      -- position of the delivery with the same bytes that this one repeats
  previous    INTEGER,                      -- position of the order's previous delivery, which makes its history a chain
  erased      INTEGER,                      -- 1 since its payload and sender are erased; NULL before. Neither takes a byte, so that the row keeps its size
  -- Where it came from: API key, address and request id, as src/store/sql/deliveries/origins.ts writes them.
  origin      BLOB,
  payload     BLOB    NOT NULL              -- the last column, because SQLite reads through a large one to what stands behind it
) STRICT;

-- Receipts begin with their time, so entries are added at the end of this index, which stays cheap.
CREATE UNIQUE INDEX delivery_receipt ON delivery (receipt);

CREATE TABLE idempotency (
  number   INTEGER NOT NULL PRIMARY KEY,
  customer INTEGER NOT NULL,
  key      TEXT    NOT NULL,
  position INTEGER NOT NULL, -- the first delivery with this key
  kept_at  INTEGER NOT NULL,
  UNIQUE (customer, key)
) STRICT;

-- An answer may hold what was sent.
CREATE TRIGGER customer_attempts_erased AFTER UPDATE OF erased_at ON customer WHEN NEW.erased_at IS NOT NULL
BEGIN
  DELETE FROM webhook_attempt WHERE customer = NEW.number;
END;

-- Where this store was moved, at most one row: `teslim copy` writes it when it has copied everything to PostgreSQL.
CREATE TABLE moved (
  target TEXT    NOT NULL, -- hosts and name of the database
  at     INTEGER NOT NULL  -- when the copy began
) STRICT;
