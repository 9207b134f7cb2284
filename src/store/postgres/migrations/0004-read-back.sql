-- Runs with programs from 0002 on.

-- Secrets that all processes on one store share, such as the key that seals cursors.
CREATE TABLE service_secret (
  name  text  COLLATE "C" PRIMARY KEY,
  value bytea NOT NULL
);
