-- Runs with programs from 0002 on.

-- One row. A follower whose cursor lies before `position` has missed something unless its cursor is of this `generation`: then it
-- was promised only what comes after `announced`.
CREATE TABLE purge (
  generation   INTEGER NOT NULL, -- increases with every purge, before it removes anything
  position     INTEGER NOT NULL, -- of the last delivery in the feed that was removed; changes together with the removal
  announced    INTEGER NOT NULL, -- no purge was ever going to remove a delivery after it
  done_before  INTEGER NOT NULL, -- these are milliseconds since 1970: up to when the server has purged by itself,
  leased_until INTEGER NOT NULL, -- and until when a server is doing so
  erasures     INTEGER NOT NULL  -- increases with every erasure, before it overwrites anything
) STRICT;
INSERT INTO purge (generation, position, announced, done_before, leased_until, erasures) VALUES (0, 0, 0, 0, 0, 0);

ALTER TABLE customer ADD COLUMN erased_at INTEGER; -- milliseconds since 1970: payloads and order ids of its deliveries are erased
