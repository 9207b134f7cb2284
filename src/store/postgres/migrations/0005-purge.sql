-- Runs with programs from 0002 on.

-- One row. A follower whose cursor lies before `position` has missed something unless its cursor is of this `generation`: then it
-- was promised only what comes after `announced`.
CREATE TABLE purge (
  generation   bigint NOT NULL, -- increases with every purge, before it removes anything
  position     bigint NOT NULL, -- of the last delivery in the feed that was removed; changes together with the removal
  announced    bigint NOT NULL, -- no purge was ever going to remove a delivery after it
  done_before  bigint NOT NULL, -- these are milliseconds since 1970: up to when the server has purged by itself,
  leased_until bigint NOT NULL, -- and until when a server is doing so
  erasures     bigint NOT NULL  -- increases with every erasure, before it overwrites anything
);
INSERT INTO purge (generation, position, announced, done_before, leased_until, erasures) VALUES (0, 0, 0, 0, 0, 0);

ALTER TABLE customer ADD COLUMN erased_at bigint; -- milliseconds since 1970: payloads and order ids of its deliveries are erased

-- Looks at `look` deliveries after a position and, if `really`, removes those received before a time that no order needs: an
-- order needs the delivery that made its state, and its latest one. With `whole_orders` an order whose latest delivery was
-- received before then goes, too. Returns the last position looked at (NULL at the end) and what was or would be removed.
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

-- Makes the months up to `ahead` months from now where deliveries are partitioned (deploy/postgres/partition-by-month.sql):
-- without one for the day, deliveries would be refused. Returns how many it made. It has the rights of its owner, because the
-- role of service-role.sql may make no tables.
CREATE FUNCTION make_months_1(ahead integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER
SET lock_timeout = '2s'
AS $$
DECLARE
  last text;
  endless boolean;
  month date;
  name text;
  grantee oid;
  made integer := 0;
BEGIN
  IF (SELECT relkind FROM pg_class WHERE oid = 'delivery'::regclass) <> 'p' THEN
    RETURN 0;
  END IF;
  -- Replicas do this at the same time.
  PERFORM pg_advisory_xact_lock(7425, 1);
  LOOP
    -- The bounds are UUIDs, which begin with their milliseconds.
    SELECT max(substring(pg_get_expr(c.relpartbound, c.oid) FROM $re$TO \('([0-9a-f-]{36})'\)$re$)),
           bool_or(pg_get_expr(c.relpartbound, c.oid) LIKE '%TO (MAXVALUE)')
      INTO last, endless
      FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'delivery'::regclass;
    month := to_timestamp(('x' || lpad(substr(replace(last, '-', ''), 1, 12), 16, '0'))::bit(64)::bigint / 1000.0) AT TIME ZONE 'UTC';
    IF last IS NULL OR endless OR month > (now() AT TIME ZONE 'UTC') + ahead * interval '1 month' THEN
      RETURN made;
    END IF;
    name := 'delivery_' || to_char(month, 'YYYY_MM');
    -- ATTACH lets deliveries go on meanwhile; CREATE TABLE ... PARTITION OF would not.
    EXECUTE format('CREATE TABLE %I (LIKE delivery INCLUDING STORAGE)', name);
    EXECUTE format('ALTER TABLE delivery ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', name, last,
      (lpad(to_hex((extract(epoch FROM date_trunc('month', month::timestamp) + interval '1 month') * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid);
    -- Others, such as the role of service-role.sql, may use a month through `delivery` only.
    FOR grantee IN
      SELECT DISTINCT a.grantee FROM pg_class c, aclexplode(c.relacl) a
       WHERE c.oid = to_regclass(quote_ident(name)) AND a.grantee NOT IN (0, c.relowner)
    LOOP
      EXECUTE format('REVOKE ALL ON %I FROM %s', name, grantee::regrole);
    END LOOP;
    made := made + 1;
  END LOOP;
END
$$;

-- Drops the months that hold nothing any more and ended before a time. Returns their names.
CREATE FUNCTION drop_months_1(before bigint) RETURNS SETOF text
LANGUAGE plpgsql SECURITY DEFINER
SET lock_timeout = '2s'
AS $$
DECLARE
  month regclass;
  bound uuid := (lpad(to_hex(greatest(before, 0)), 12, '0') || repeat('0', 20))::uuid;
  empty boolean;
BEGIN
  FOR month IN
    SELECT c.oid::regclass FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
     WHERE i.inhparent = 'delivery'::regclass
       AND substring(pg_get_expr(c.relpartbound, c.oid) FROM $re$TO \('([0-9a-f-]{36})'\)$re$)::uuid <= bound
  LOOP
    EXECUTE format('SELECT NOT EXISTS (SELECT FROM %s)', month) INTO empty;
    CONTINUE WHEN NOT empty;
    RETURN NEXT month::text;
    EXECUTE format('DROP TABLE %s', month);
  END LOOP;
END
$$;

DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['purge_1(bigint, bigint, bigint, boolean, integer, boolean)', 'make_months_1(integer)', 'drop_months_1(bigint)'] LOOP
    -- Whoever calls it must not choose whose tables it finds.
    EXECUTE format('ALTER FUNCTION %s SET search_path = %I, pg_temp', name, current_schema);
    CONTINUE WHEN name LIKE 'make%';
    EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', name);
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'teslim_service') THEN
      EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM teslim_service', name);
    END IF;
  END LOOP;
END
$$;
