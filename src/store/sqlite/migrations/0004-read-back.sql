-- Runs with programs from 0002 on.

-- Secrets that all processes on one store share, such as the key that seals cursors.
CREATE TABLE service_secret (
  name  TEXT NOT NULL PRIMARY KEY,
  value BLOB NOT NULL
) STRICT, WITHOUT ROWID;
