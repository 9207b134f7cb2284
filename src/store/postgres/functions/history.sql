-- Returns the timeline that the server writes on: PostgreSQL begins another one with each promotion of a standby, and each recovery to a
-- point in time. NULL for a role that may not ask. The oids are looked up once, when the function is parsed.
CREATE OR REPLACE FUNCTION timeline_1() RETURNS bigint
LANGUAGE plpgsql
AS $$
BEGIN
  IF has_function_privilege('pg_walfile_name(pg_lsn)'::regprocedure, 'EXECUTE')
     AND has_function_privilege('pg_current_wal_insert_lsn()'::regprocedure, 'EXECUTE') THEN
    RETURN ('x' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8))::bit(32)::bigint;
  END IF;
  RETURN NULL;
END
$$;

-- Notes that deliveries are stored on another timeline from now on, and returns the position after which they are stored: so far
-- ahead that no position is given twice, whatever the failover has lost. Two standbys may choose the same timeline, hence the random
-- part. 2^53, where positions end, has room for a million failovers. The caller holds the lock of deliver_1, and takes the positions.
CREATE OR REPLACE FUNCTION begin_history_1(deliveries integer) RETURNS bigint
LANGUAGE plpgsql
SET enable_seqscan = off
AS $$
DECLARE
  -- The sequence may be ahead of what is left: its value is in the log of the server before the commit that took it.
  kept bigint := greatest((SELECT max(d.position) FROM delivery d), (SELECT p.position FROM purge p), 0);
  start bigint := greatest((SELECT last_value FROM last_position), kept) + 4294967296 + floor(random() * 4294967296)::bigint;
BEGIN
  INSERT INTO history (resumed_after, last_position, timeline, began_at)
  VALUES (start, kept, timeline_1(), (extract(epoch FROM clock_timestamp()) * 1000)::bigint);
  PERFORM setval('last_position', start + deliveries);
  RETURN start;
END
$$;
