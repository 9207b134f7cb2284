CREATE TABLE customer (
  number            INTEGER NOT NULL PRIMARY KEY, -- stands for the id in larger tables
  id                TEXT    NOT NULL UNIQUE,
  email             TEXT    NOT NULL UNIQUE,
  password_hash     TEXT    NOT NULL,
  is_api            INTEGER NOT NULL CHECK (is_api IN (0, 1)),
  operator          INTEGER NOT NULL CHECK (operator IN (0, 1)),
  enabled           INTEGER NOT NULL CHECK (enabled IN (0, 1)),
  tokens_valid_from INTEGER NOT NULL, -- seconds since 1970
  created_at        INTEGER NOT NULL  -- milliseconds since 1970
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

CREATE TABLE signing_key (
  kid         TEXT    NOT NULL PRIMARY KEY,
  algorithm   TEXT    NOT NULL,
  private_jwk TEXT    NOT NULL,
  created_at  INTEGER NOT NULL -- milliseconds since 1970
) STRICT, WITHOUT ROWID;
