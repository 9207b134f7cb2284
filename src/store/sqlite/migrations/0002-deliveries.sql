CREATE TABLE api_key (
  id         TEXT    NOT NULL PRIMARY KEY,
  customer   INTEGER NOT NULL REFERENCES customer (number),
  hash       BLOB    NOT NULL UNIQUE, -- SHA-256
  label      TEXT    NOT NULL,
  created_at INTEGER NOT NULL,        -- these are milliseconds since 1970
  expires_at INTEGER,
  revoked_at INTEGER
) STRICT, WITHOUT ROWID;

-- Separate from api_key, so that recording a use does not count as a change of the account.
CREATE TABLE api_key_use (
  key_id  TEXT    NOT NULL PRIMARY KEY REFERENCES api_key (id),
  used_at INTEGER NOT NULL,
  address TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

-- One row, incremented with every change of a customer or API key. Replicas and caches watch it.
CREATE TABLE account_version (
  number INTEGER NOT NULL
) STRICT;
INSERT INTO account_version (number) VALUES (0);

CREATE TABLE delivery (
  position    INTEGER NOT NULL PRIMARY KEY, -- increases in commit order
  receipt     BLOB    NOT NULL,             -- version 7 UUID
  customer    INTEGER NOT NULL,
  order_id    TEXT,
  status      INTEGER NOT NULL,
  received_at INTEGER NOT NULL,             -- milliseconds since 1970
  echo_of     INTEGER,                      -- position of the delivery with the same bytes that this one repeats
  previous    INTEGER,                      -- position of the order's previous delivery, which makes its history a chain
  payload     BLOB    NOT NULL
) STRICT;

-- Receipts begin with their time, so entries are added at the end of this index, which stays cheap.
CREATE UNIQUE INDEX delivery_receipt ON delivery (receipt);

CREATE TABLE order_state (
  customer        INTEGER NOT NULL,
  order_id        TEXT    NOT NULL,
  status          INTEGER NOT NULL,
  state_position  INTEGER NOT NULL, -- the delivery that made the state
  latest_position INTEGER NOT NULL, -- the latest delivery, which may be an echo of that one
  digest          BLOB    NOT NULL, -- first half of the SHA-256 of the state's payload
  PRIMARY KEY (customer, order_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE idempotency (
  number   INTEGER NOT NULL PRIMARY KEY,
  customer INTEGER NOT NULL,
  key      TEXT    NOT NULL,
  position INTEGER NOT NULL, -- the first delivery with this key
  kept_at  INTEGER NOT NULL, -- milliseconds since 1970
  UNIQUE (customer, key)
) STRICT;
