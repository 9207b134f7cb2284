-- Removes deliveries, and orders with the two deliveries that they need. Leaves an order that has got a later delivery, and what
-- count_deliveries_1 has not counted. Also removes some idempotency keys that were kept before a time. Returns what was removed.
--
-- It has the rights of its owner, because the role of deploy/postgres/service-role.sql may not delete deliveries. That role
-- may run it only if the operator grants it.
CREATE OR REPLACE FUNCTION purge_1(receipts uuid[], latests bigint[], before bigint)
RETURNS TABLE (deliveries bigint, orders bigint, bytes bigint, positions bigint[])
LANGUAGE plpgsql SECURITY DEFINER
SET lock_timeout = '3s'
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
#variable_conflict use_column
DECLARE
  counted bigint := (SELECT position FROM roll_up);
  highest bigint;
BEGIN
  -- The lock of deliver_1, which reads some rows twice.
  PERFORM pg_advisory_xact_lock(7425, 'last_position'::regclass::oid::integer);
  -- Neither joins what it deletes, nor compares `position` as it is: a plan that was made while the tables were small would read all of them.
  WITH gone AS (
    DELETE FROM order_state WHERE ctid = ANY (ARRAY(
      SELECT s.ctid
        FROM unnest(latests) l (latest)
       CROSS JOIN LATERAL (SELECT * FROM delivery WHERE position = l.latest LIMIT 1) d
       CROSS JOIN LATERAL (SELECT *, ctid FROM order_state WHERE customer = d.customer AND order_id = d.order_id LIMIT 1) s
       WHERE s.latest_position = d.position AND d.position <= counted))
    RETURNING state_position, latest_position
  ), removed AS (
    DELETE FROM delivery
     WHERE receipt = ANY (receipts || ARRAY(
             SELECT d.receipt
               FROM (SELECT state_position AS position FROM gone UNION SELECT latest_position FROM gone) t
              CROSS JOIN LATERAL (SELECT receipt FROM delivery WHERE position = t.position LIMIT 1) d))
       AND position + 0 <= counted
    RETURNING position, octet_length(payload) AS bytes
  )
  SELECT count(*), coalesce(sum(r.bytes), 0), max(r.position), (SELECT count(*) FROM gone), coalesce(array_agg(r.position), '{}')
    INTO deliveries, bytes, highest, orders, positions
    FROM removed r;
  -- In the same transaction, so that no follower misses what is gone, and none is told so too early.
  UPDATE purge SET position = highest WHERE position < highest;
  DELETE FROM idempotency WHERE ctid = ANY (ARRAY(
    SELECT k.ctid FROM idempotency k WHERE k.kept_at < before ORDER BY k.kept_at
     LIMIT 2 * (cardinality(receipts) + 2 * cardinality(latests))));
  RETURN NEXT;
END
$$;
