-- Runs with programs from 0002 on, which leave it empty.

-- Where a delivery came from: API key, address and request id, as src/store/origins.ts writes them. It stands after the payload,
-- because it is only read together with that.
ALTER TABLE delivery ADD COLUMN origin BLOB;

-- Times of receipt between `low` and `high` do not rise with the positions of their deliveries, because a clock was put back. The
-- row with the greatest `high` also says that every delivery was received by then: within five minutes times have no order anyway.
CREATE TABLE unordered_time (
  high INTEGER PRIMARY KEY, -- these are milliseconds since 1970
  low  INTEGER NOT NULL
) STRICT;
