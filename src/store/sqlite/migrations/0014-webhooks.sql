-- Runs with programs from 0002 on.

-- Endpoints to which deliveries are pushed.
CREATE TABLE webhook (
  id            TEXT    NOT NULL PRIMARY KEY, -- version 7 UUID
  url           TEXT    NOT NULL,
  customer_id   TEXT,             -- of the only customer whose deliveries are sent; NULL for all
  statuses      TEXT,             -- of the deliveries that are sent, separated by commas; NULL for all
  duplicates    INTEGER NOT NULL CHECK (duplicates IN (0, 1)), -- whether duplicates are sent, too
  ca            TEXT,             -- certificate authority, as PEM
  give_up       INTEGER,          -- milliseconds
  created_at    INTEGER NOT NULL, -- these are milliseconds since 1970
  secret        TEXT    NOT NULL, -- sealed
  former_secret TEXT,             -- sealed; signs, too, until
  former_until  INTEGER,
  paused_reason TEXT,
  paused_at     INTEGER,
  version       INTEGER NOT NULL  -- increases with every change by operators
) STRICT, WITHOUT ROWID;

-- How far each endpoint has come. A table of its own, because it changes many times a second.
CREATE TABLE webhook_progress (
  webhook         TEXT    NOT NULL PRIMARY KEY,
  epoch           INTEGER NOT NULL, -- increases when an operator sets the position
  position        INTEGER NOT NULL, -- deliveries up to here are confirmed, left out by the filter, or in webhook_waiting
  generation      INTEGER NOT NULL, -- of the purges, if the position was reached among what one leaves; else 0
  confirmed       TEXT    NOT NULL, -- deliveries after the position that are confirmed: how far after it, separated by commas
  last_success_at INTEGER,          -- these are milliseconds since 1970
  failing_since   INTEGER,
  next_try_at     INTEGER,
  holder          TEXT,             -- the process that has the lease, from and until when
  leased_at       INTEGER,
  leased_until    INTEGER
) STRICT, WITHOUT ROWID;

-- Deliveries that are not confirmed, although the position of the endpoint lies at or after them.
CREATE TABLE webhook_waiting (
  webhook         TEXT    NOT NULL,
  position        INTEGER NOT NULL,
  failures        INTEGER NOT NULL,
  first_failed_at INTEGER, -- these are milliseconds since 1970
  next_at         INTEGER,
  set_aside_at    INTEGER,
  last_error      TEXT,
  PRIMARY KEY (webhook, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX webhook_waiting_set_aside ON webhook_waiting (webhook, position) WHERE set_aside_at IS NOT NULL;

-- Failed attempts, and those that an operator asked for: the newest 500 of an endpoint, for a day.
CREATE TABLE webhook_attempt (
  number       INTEGER NOT NULL PRIMARY KEY,
  webhook      TEXT    NOT NULL,
  at           INTEGER NOT NULL, -- milliseconds since 1970
  position     INTEGER,          -- NULL for a test
  receipt      TEXT,
  customer     INTEGER,          -- whose delivery it was
  status       INTEGER,
  error        TEXT,
  milliseconds INTEGER NOT NULL,
  response     TEXT,
  next_at      INTEGER
) STRICT;
CREATE INDEX webhook_attempt_webhook ON webhook_attempt (webhook);
CREATE INDEX webhook_attempt_at ON webhook_attempt (at);
CREATE INDEX webhook_attempt_customer ON webhook_attempt (customer) WHERE customer IS NOT NULL;

-- An answer may hold what was sent to the endpoint. A program of an earlier version erases customers, too.
CREATE TRIGGER customer_attempts_erased AFTER UPDATE OF erased_at ON customer WHEN NEW.erased_at IS NOT NULL
BEGIN
  DELETE FROM webhook_attempt WHERE customer = NEW.number;
END;

CREATE TABLE webhook_minute (
  webhook   TEXT    NOT NULL,
  minute    INTEGER NOT NULL, -- its start, in milliseconds since 1970
  succeeded INTEGER NOT NULL, -- attempts
  failed    INTEGER NOT NULL,
  longest   INTEGER NOT NULL, -- milliseconds
  PRIMARY KEY (webhook, minute)
) STRICT, WITHOUT ROWID;
CREATE INDEX webhook_minute_minute ON webhook_minute (minute);
