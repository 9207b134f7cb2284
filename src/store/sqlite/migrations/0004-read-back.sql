-- Runs with programs from 0002 on.

-- What all processes on one store know and nobody else, such as the key of cursors.
CREATE TABLE service_secret (
  name  TEXT NOT NULL PRIMARY KEY,
  value BLOB NOT NULL
) STRICT, WITHOUT ROWID;
