-- Runs with programs from 0002 on.

-- Deliveries by customer and hour. Neither a purge nor an erasure reduces these counts.
CREATE TABLE delivery_hour (
  customer  bigint   NOT NULL, -- 0 for all customers together
  hour      integer  NOT NULL, -- hours since 1970
  status    smallint NOT NULL,
  duplicate boolean  NOT NULL, -- true for echoes
  count     bigint   NOT NULL,
  PRIMARY KEY (customer, hour, status, duplicate)
) WITH (fillfactor = 50); -- leaves room for the next version of a row on the same page

-- One row: delivery_hour counts every delivery up to this position, and none after it.
CREATE TABLE roll_up (
  position bigint NOT NULL
);
INSERT INTO roll_up (position) VALUES (0);

CREATE TABLE refusal_hour (
  customer bigint  NOT NULL, -- 0 for all refusals, also those of unknown customers
  hour     integer NOT NULL, -- hours since 1970
  action   text    COLLATE "C" NOT NULL, -- as in audit_event
  code     text    COLLATE "C" NOT NULL,
  count    bigint  NOT NULL,
  PRIMARY KEY (customer, hour, action, code)
) WITH (fillfactor = 50);

-- Counts the next `look` deliveries and returns their number; 0 if another session is counting. Positions become visible in
-- order (see deliver_1), so none before the last one that is counted can appear later.
--
-- It has the rights of its owner, because the role of deploy/postgres/service-role.sql may not change the counts.
CREATE FUNCTION count_deliveries_1(look integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER
SET lock_timeout = '3s'
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
DECLARE
  place bigint;
  last bigint;
  counted integer;
BEGIN
  -- An idle server locks and writes nothing.
  SELECT r.position INTO STRICT place FROM roll_up r;
  IF NOT EXISTS (SELECT FROM delivery d WHERE d.position > place) THEN
    RETURN 0;
  END IF;
  SELECT r.position INTO place FROM roll_up r FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    RETURN 0;
  END IF;
  WITH looked AS MATERIALIZED (
    SELECT d.position, d.customer, (d.received_at / 3600000)::integer AS hour, d.status, d.echo_of IS NOT NULL AS duplicate
      FROM delivery d WHERE d.position > place ORDER BY d.position LIMIT look
  ), added AS (
    INSERT INTO delivery_hour AS h (customer, hour, status, duplicate, count)
    SELECT coalesce(l.customer, 0), l.hour, l.status, l.duplicate, count(*)
      FROM looked l
     GROUP BY GROUPING SETS ((l.customer, l.hour, l.status, l.duplicate), (l.hour, l.status, l.duplicate))
    ON CONFLICT (customer, hour, status, duplicate) DO UPDATE SET count = h.count + excluded.count
  )
  SELECT max(l.position), count(*) INTO last, counted FROM looked l;
  UPDATE roll_up SET position = last WHERE last IS NOT NULL;
  RETURN counted;
END
$$;

-- Returns the next `look` deliveries that are not counted, numbered from 1. Uses the index, whatever the planner estimates, and
-- sees the same state of the store as the calling statement.
CREATE FUNCTION uncounted_1(look integer)
RETURNS TABLE (number bigint, customer bigint, received_at bigint, status smallint, duplicate boolean)
LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
    SELECT row_number() OVER (ORDER BY d.position), d.customer, d.received_at, d.status, d.echo_of IS NOT NULL
      FROM (SELECT position, customer, received_at, status, echo_of
              FROM delivery WHERE position > (SELECT r.position FROM roll_up r) ORDER BY position LIMIT look) d;
END
$$;

-- As in 0005, but removes nothing that is not counted: while there is something to count, a call counts up to 10,000 deliveries and
-- removes nothing.
CREATE OR REPLACE FUNCTION purge_1(after bigint, until bigint, before bigint, whole_orders boolean, look integer, really boolean)
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

DO $$
DECLARE
  name text;
  grantee oid;
  may record;
BEGIN
  -- As in 0005: whoever calls it must not choose whose tables it finds.
  FOREACH name IN ARRAY ARRAY['count_deliveries_1(integer)', 'purge_1(bigint, bigint, bigint, boolean, integer, boolean)'] LOOP
    EXECUTE format('ALTER FUNCTION %s SET search_path = %I, pg_temp', name, current_schema);
  END LOOP;
  -- Default privileges may have given more. Counts of deliveries change only through the two functions.
  FOREACH name IN ARRAY ARRAY['delivery_hour', 'roll_up'] LOOP
    FOR grantee IN
      SELECT DISTINCT a.grantee FROM pg_class c, aclexplode(c.relacl) a
       WHERE c.oid = name::regclass AND a.grantee <> c.relowner
    LOOP
      EXECUTE format('REVOKE INSERT, UPDATE, DELETE, TRUNCATE ON %I FROM %s', name,
        CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END);
    END LOOP;
  END LOOP;
  -- As in 0008: another role than the owner of the older tables may be running this.
  FOR may IN
    SELECT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END AS grantee, a.privilege_type,
           a.grantee = c.relowner AS owns
      FROM pg_class c, aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) a
     WHERE c.oid = 'audit_event'::regclass
       AND a.privilege_type IN ('SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE')
  LOOP
    EXECUTE format('GRANT %s ON refusal_hour TO %s', may.privilege_type, may.grantee);
    IF may.owns OR may.privilege_type = 'SELECT' THEN
      EXECUTE format('GRANT %s ON delivery_hour, roll_up TO %s', may.privilege_type, may.grantee);
    END IF;
  END LOOP;
END
$$;
