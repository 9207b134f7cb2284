-- Runs with programs from 0002 on.

-- Set for refused deliveries that the audit log records one by one. A refusal is a UUID of version 7: it begins with its time.
ALTER TABLE audit_event ADD COLUMN refusal TEXT;
ALTER TABLE audit_event ADD COLUMN order_id TEXT;
ALTER TABLE audit_event ADD COLUMN key_id TEXT;
CREATE INDEX audit_event_refusal ON audit_event (customer_id, refusal) WHERE refusal IS NOT NULL;

-- Bodies that were refused with a valid API key, if TESLIM_KEEP_REFUSED says to keep them.
CREATE TABLE refused_delivery (
  number      INTEGER NOT NULL PRIMARY KEY,
  refusal     TEXT    NOT NULL UNIQUE, -- that of the audit event, if there is one
  at          INTEGER NOT NULL, -- milliseconds since 1970
  customer_id TEXT    NOT NULL,
  key_id      TEXT    NOT NULL,
  order_id    TEXT,
  error_code  TEXT    NOT NULL,
  message     TEXT    NOT NULL, -- what the supplier was told
  request_id  TEXT    NOT NULL,
  address     TEXT    NOT NULL,
  payload     BLOB    NOT NULL
) STRICT;
CREATE INDEX refused_delivery_customer ON refused_delivery (customer_id, refusal);

-- One row.
CREATE TABLE refused_tally (
  bytes    INTEGER NOT NULL, -- of all rows of refused_delivery, as src/store/refused-store.ts counts them
  removed  INTEGER NOT NULL, -- bodies that were removed to make room for later ones
  not_kept INTEGER NOT NULL  -- bodies that were never stored, because too many came at once
) STRICT;
INSERT INTO refused_tally (bytes, removed, not_kept) VALUES (0, 0, 0);
