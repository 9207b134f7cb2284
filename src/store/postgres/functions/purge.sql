-- Reads `look` deliveries after a position and, if `really`, removes those received before a time that no order needs: an
-- order needs the delivery that made its state, and its latest one. With `whole_orders` an order whose latest delivery was
-- received before then goes, too. Returns the last position that was read (NULL at the end) and what was or would be removed.
--
-- Removes nothing that count_deliveries_1 has not counted: while there is something to count, a call counts up to 10,000
-- deliveries and removes nothing.
--
-- It has the rights of its owner, because the role of deploy/postgres/service-role.sql may not delete deliveries. That role
-- may run it only if the operator grants it.
CREATE FUNCTION purge_1(after bigint, until bigint, before bigint, whole_orders boolean, look integer, really boolean)
RETURNS TABLE (looked bigint, deliveries bigint, orders bigint, bytes bigint)
LANGUAGE plpgsql SECURITY DEFINER
SET lock_timeout = '3s'
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
#variable_conflict use_column
DECLARE
  receipts uuid[];
  customers bigint[];
  order_ids text[];
  latests bigint[];
  highest bigint;
BEGIN
  SELECT max(p.position),
         array_agg(p.receipt) FILTER (WHERE p.goes),
         count(*) FILTER (WHERE p.goes OR p.expired), count(*) FILTER (WHERE p.expired AND p.position = p.latest_position),
         coalesce(sum(p.bytes) FILTER (WHERE p.goes OR p.expired), 0),
         array_agg(p.customer) FILTER (WHERE p.expired), array_agg(p.order_id) FILTER (WHERE p.expired),
         array_agg(p.latest_position) FILTER (WHERE p.expired)
    INTO looked, receipts, deliveries, orders, bytes, customers, order_ids, latests
    FROM (
      SELECT d.*, s.latest_position,
             d.received_at < before AND d.position IS DISTINCT FROM s.state_position
               AND d.position IS DISTINCT FROM s.latest_position AS goes,
             whole_orders AND d.received_at < before AND d.position IN (s.state_position, s.latest_position)
               AND s.latest_position <= until -- followers are told of nothing beyond
               AND coalesce((SELECT l.received_at FROM delivery l WHERE l.position = s.latest_position LIMIT 1), 0) < before
               AS expired
        FROM (SELECT position, receipt, customer, order_id, received_at, octet_length(payload) AS bytes
                FROM delivery WHERE position > after AND position <= until ORDER BY position LIMIT look) d
        LEFT JOIN order_state s ON s.customer = d.customer AND s.order_id = d.order_id
    ) p;
  -- Checked after the deliveries to remove were found: if nothing is left to count now, all of them are counted.
  IF really AND deliveries > 0
     AND EXISTS (SELECT FROM delivery WHERE position > (SELECT r.position FROM roll_up r) AND position <= until) THEN
    PERFORM FROM roll_up FOR UPDATE;
    PERFORM count_deliveries_1(10000);
    -- The caller looks at the same deliveries again.
    looked := after;
    deliveries := 0;
    orders := 0;
    bytes := 0;
    RETURN NEXT;
    RETURN;
  END IF;
  IF really AND deliveries > 0 THEN
    -- The lock of deliver_1, which reads some rows twice.
    PERFORM pg_advisory_xact_lock(7425, 'last_position'::regclass::oid::integer);
    WITH gone AS (
      -- Not if the order got a delivery meanwhile.
      DELETE FROM order_state s USING (
        SELECT DISTINCT customer, order_id, latest FROM unnest(customers, order_ids, latests) e (customer, order_id, latest)
      ) e
       WHERE s.customer = e.customer AND s.order_id = e.order_id AND s.latest_position = e.latest
      RETURNING s.state_position, s.latest_position
    ), theirs AS (
      SELECT state_position AS position FROM gone UNION SELECT latest_position FROM gone
    ), removed AS (
      DELETE FROM delivery d WHERE d.receipt = ANY (receipts) RETURNING d.position, octet_length(d.payload) AS bytes
    ), removed_theirs AS (
      DELETE FROM delivery d USING theirs t WHERE d.position = t.position RETURNING d.position, octet_length(d.payload) AS bytes
    ), removed_all AS (
      SELECT * FROM removed UNION ALL SELECT * FROM removed_theirs
    )
    SELECT count(*), coalesce(sum(r.bytes), 0), max(r.position), (SELECT count(*) FROM gone)
      INTO deliveries, bytes, highest, orders
      FROM removed_all r;
    -- In the same transaction, so that no follower misses what is gone, and none is told so too early.
    UPDATE purge SET position = highest WHERE position < highest;
    DELETE FROM idempotency WHERE ctid = ANY (ARRAY(
      SELECT k.ctid FROM idempotency k WHERE k.kept_at < before ORDER BY k.kept_at LIMIT 2 * look));
  END IF;
  RETURN NEXT;
END
$$;
