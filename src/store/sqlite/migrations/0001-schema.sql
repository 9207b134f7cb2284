-- What an embedded store consists of.

\ir ../../sql/tables.sql

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
