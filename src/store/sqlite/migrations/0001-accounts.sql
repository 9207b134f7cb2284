CREATE TABLE customer (
  id                TEXT    NOT NULL PRIMARY KEY,
  email             TEXT    NOT NULL UNIQUE,
  password_hash     TEXT    NOT NULL,
  is_api            INTEGER NOT NULL CHECK (is_api IN (0, 1)),
  operator          INTEGER NOT NULL CHECK (operator IN (0, 1)),
  enabled           INTEGER NOT NULL CHECK (enabled IN (0, 1)),
  tokens_valid_from INTEGER NOT NULL, -- seconds since 1970
  created_at        INTEGER NOT NULL  -- milliseconds since 1970
) STRICT, WITHOUT ROWID;

CREATE TABLE customer_region (
  customer_id TEXT NOT NULL REFERENCES customer (id),
  region      TEXT NOT NULL,
  PRIMARY KEY (customer_id, region)
) STRICT, WITHOUT ROWID;

CREATE TABLE authority_rule (
  customer_id TEXT NOT NULL REFERENCES customer (id),
  rule        TEXT NOT NULL,
  PRIMARY KEY (customer_id, rule)
) STRICT, WITHOUT ROWID;

CREATE TABLE signing_key (
  kid         TEXT    NOT NULL PRIMARY KEY,
  algorithm   TEXT    NOT NULL,
  private_jwk TEXT    NOT NULL,
  created_at  INTEGER NOT NULL -- milliseconds since 1970
) STRICT, WITHOUT ROWID;
