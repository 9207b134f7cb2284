-- Runs with programs from 0002 on.

-- A name is the digest of an account and an address, of an address, or of an account; the row does not say which. A count of 0
-- records that somebody logged in to an account from an address.
CREATE TABLE login_failure (
  name       BLOB    NOT NULL PRIMARY KEY,
  count      INTEGER NOT NULL,
  last_at    INTEGER NOT NULL, -- these are milliseconds since 1970
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX login_failure_expires_at ON login_failure (expires_at);

CREATE TABLE audit_event (
  number      INTEGER NOT NULL PRIMARY KEY,
  at          INTEGER NOT NULL, -- milliseconds since 1970
  actor       TEXT    NOT NULL,
  action      TEXT    NOT NULL,
  customer_id TEXT,
  address     TEXT,
  request_id  TEXT,
  details     TEXT    NOT NULL  -- a JSON object
) STRICT;
CREATE INDEX audit_event_at ON audit_event (at);

ALTER TABLE signing_key ADD COLUMN expires_at INTEGER; -- milliseconds since 1970: when the key stops verifying tokens

ALTER TABLE api_key ADD COLUMN successor TEXT; -- the API key that replaced this one by rotation
