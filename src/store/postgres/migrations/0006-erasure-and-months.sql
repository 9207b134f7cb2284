-- Runs with programs from 0002 on.

-- The numbers of customers with `erased_at`. deliver_1 reads this table, not `customer`, because deliveries must not wait for
-- whoever locks the customers. There is no foreign key for the same reason.
CREATE TABLE erased_customer (
  customer bigint PRIMARY KEY
);

-- Runs at the end of the statement that erases a customer, so that it holds the lock of deliver_1 for the commit only. The
-- deliveries of a batch that got the lock before are committed, and will be erased. A later batch sees the row.
CREATE FUNCTION refuse_deliveries_1() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
  IF EXISTS (SELECT FROM erased_customer WHERE customer = NEW.number) THEN
    RETURN NULL;
  END IF;
  PERFORM pg_advisory_xact_lock(7425, 'last_position'::regclass::oid::integer);
  INSERT INTO erased_customer (customer) VALUES (NEW.number) ON CONFLICT DO NOTHING;
  RETURN NULL;
END
$$;
CREATE TRIGGER customer_erased AFTER INSERT OR UPDATE OF erased_at ON customer
  FOR EACH ROW WHEN (NEW.erased_at IS NOT NULL) EXECUTE FUNCTION refuse_deliveries_1();

-- After the trigger, which waits for erasures under way: they are committed now.
INSERT INTO erased_customer SELECT number FROM customer WHERE erased_at IS NOT NULL ON CONFLICT DO NOTHING;

-- Whoever adds deliveries reads it, and only the owner of the tables erases: another role may be running this.
DO $$
DECLARE
  grantee oid;
BEGIN
  -- Default privileges may have given more.
  FOR grantee IN
    SELECT DISTINCT a.grantee FROM pg_class c, aclexplode(c.relacl) a
     WHERE c.oid = 'erased_customer'::regclass AND a.grantee <> c.relowner
  LOOP
    EXECUTE format('REVOKE ALL ON erased_customer FROM %s', CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END);
  END LOOP;
  GRANT SELECT ON erased_customer TO PUBLIC;
  EXECUTE format('GRANT ALL ON erased_customer TO %s', (SELECT relowner::regrole FROM pg_class WHERE oid = 'customer'::regclass));
END
$$;

-- As in 0002, but refuses the deliveries of erased customers.
--
-- Stores a batch in the order of its arrays, in one round trip. The caller, src/store/postgres/deliveries/batch.ts,
-- describes the echo rule, and computes for each delivery:
--   before  index in the batch of the order's previous delivery; NULL for the first one of its order
--   first   index of the delivery that this one echoes within the batch; its own index if it is no echo of one
--   final   whether it is the last delivery of its order in the batch
--   start   where its bytes begin in `payloads`
-- A delivery with an idempotency key shares neither key nor order with another one of the batch. Returns rows only for
-- duplicates of earlier batches, for reused keys and for erased customers.
CREATE OR REPLACE FUNCTION deliver_1(
  customers bigint[], receipts uuid[], order_ids text[], statuses smallint[], times bigint[],
  keys text[], not_befores bigint[],
  befores integer[], firsts integer[], finals boolean[], starts integer[], lengths integer[], payloads bytea
) RETURNS TABLE (place integer, outcome text, receipt uuid, order_id text, status smallint, received_at bigint)
LANGUAGE plpgsql
SET lock_timeout = '3s'
-- Every query reads a few rows by an index, so the plan is fixed and needs no statistics.
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
#variable_conflict use_column
DECLARE
  last bigint;
  erased boolean;
  kept integer[];
  omitted integer[] := '{}'; -- places that are not stored
BEGIN
  -- Admits one batch at a time until its commit, so that positions become visible in order: a reader that sees one position
  -- sees all before it. A separate statement, so that the next ones see what was committed while this one waited.
  PERFORM pg_advisory_xact_lock(7425, 'last_position'::regclass::oid::integer);
  -- One statement for both, because a statement costs as much as the look-up.
  SELECT setval('last_position', last_value + cardinality(receipts)) - cardinality(receipts),
         EXISTS (SELECT FROM erased_customer e WHERE e.customer = ANY (customers))
    INTO STRICT last, erased
    FROM last_position;
  -- Listeners hold this lock and are notified at the commit. A listener that starts meanwhile waits for this commit.
  IF NOT pg_try_advisory_xact_lock(7425, -'last_position'::regclass::oid::integer) THEN
    PERFORM pg_notify('teslim_delivery', '');
  END IF;

  IF erased THEN
    omitted := ARRAY(
      SELECT n FROM generate_series(1, cardinality(receipts)) n JOIN erased_customer e ON e.customer = customers[n]);
    RETURN QUERY
      SELECT n, 'erased', NULL::uuid, NULL::text, NULL::smallint, NULL::bigint FROM unnest(omitted) n;
  END IF;

  IF keys IS NOT NULL THEN
    kept := ARRAY(
      SELECT n FROM generate_series(1, cardinality(keys)) n
        JOIN idempotency k ON k.customer = customers[n] AND k.key = keys[n] AND k.kept_at >= not_befores[n]
        -- The delivery may have been dropped with its month.
        JOIN delivery d ON d.position = k.position
       WHERE n <> ALL (omitted));
    omitted := omitted || kept;
    RETURN QUERY
      SELECT n, CASE WHEN d.payload = substr(payloads, starts[n], lengths[n]) THEN 'duplicate' ELSE 'key-reused' END,
             coalesce(f.receipt, d.receipt), d.order_id, d.status, coalesce(f.received_at, d.received_at)
        FROM unnest(kept) n
        JOIN idempotency k ON k.customer = customers[n] AND k.key = keys[n]
        JOIN delivery d ON d.position = k.position
        LEFT JOIN delivery f ON f.position = d.echo_of;
    INSERT INTO idempotency (customer, key, position, kept_at)
    SELECT customers[n], keys[n], last + n, times[n]
      FROM generate_series(1, cardinality(keys)) n
     WHERE keys[n] IS NOT NULL AND n <> ALL (omitted)
    ON CONFLICT (customer, key) DO UPDATE SET position = excluded.position, kept_at = excluded.kept_at;
    -- Deletes at most twice as many keys as were added, so that the table shrinks gradually.
    DELETE FROM idempotency WHERE ctid = ANY (ARRAY(
      SELECT k.ctid FROM idempotency k
       WHERE k.kept_at < (SELECT min(b) FROM unnest(not_befores) b)
       ORDER BY k.kept_at LIMIT 2 * cardinality(keys)));
  END IF;

  RETURN QUERY
  WITH incoming AS MATERIALIZED (
    SELECT n AS place, customers[n] AS customer, receipts[n] AS receipt, order_ids[n] AS order_id,
           statuses[n] AS status, times[n] AS received_at, befores[n] AS before, firsts[n] AS first, finals[n] AS final,
           substr(payloads, starts[n], lengths[n]) AS payload,
           substr(sha256(substr(payloads, starts[n], lengths[n])), 1, 16) AS digest
      FROM generate_series(1, cardinality(receipts)) n
     WHERE n <> ALL (omitted)
  ),
  placed AS MATERIALIZED (
    -- The echo rule, for the first delivery of each order in the batch and its echoes there.
    SELECT i.*, s.latest_position,
           CASE WHEN befores[i.first] IS NULL AND i.digest = s.digest THEN (SELECT d.position FROM delivery d WHERE d.position = s.state_position) END AS repeated
      FROM incoming i
      LEFT JOIN order_state s ON s.customer = i.customer AND s.order_id = i.order_id
  ),
  stored AS (
    INSERT INTO delivery (position, receipt, customer, order_id, status, received_at, echo_of, previous, payload)
    SELECT last + p.place, p.receipt, p.customer, p.order_id, p.status, p.received_at,
           coalesce(p.repeated, CASE WHEN p.first <> p.place THEN last + p.first END),
           coalesce(last + p.before, p.latest_position), p.payload
      FROM placed p
  ),
  states AS (
    INSERT INTO order_state (customer, order_id, status, state_position, latest_position, digest)
    SELECT p.customer, p.order_id, p.status, coalesce(p.repeated, last + p.first), last + p.place, p.digest
      FROM placed p
     WHERE p.final
    ON CONFLICT (customer, order_id) DO UPDATE
       SET status = excluded.status, state_position = excluded.state_position,
           latest_position = excluded.latest_position, digest = excluded.digest
  )
  SELECT p.place, 'duplicate', d.receipt, p.order_id, p.status, d.received_at
    FROM placed p
    JOIN delivery d ON d.position = p.repeated;
END
$$;

-- As in 0005, but drops one month at most, so that no lock is held for the next one, and none that somebody reads or drops:
-- deliveries would wait. The next purge tries again.
CREATE OR REPLACE FUNCTION drop_months_1(before bigint) RETURNS SETOF text
LANGUAGE plpgsql SECURITY DEFINER
SET lock_timeout = '200ms'
AS $$
DECLARE
  month text;
  name text;
  bound uuid := (lpad(to_hex(greatest(before, 0)), 12, '0') || repeat('0', 20))::uuid;
  empty boolean;
BEGIN
  -- Another purge is dropping one, and goes on.
  IF NOT pg_try_advisory_xact_lock(7425, 2) THEN
    RETURN;
  END IF;
  FOR month, name IN
    SELECT format('%I.%I', n.nspname, c.relname), c.relname
      FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE i.inhparent = 'delivery'::regclass
       AND substring(pg_get_expr(c.relpartbound, c.oid) FROM $re$TO \('([0-9a-f-]{36})'\)$re$)::uuid <= bound
  LOOP
    EXECUTE format('SELECT NOT EXISTS (SELECT FROM %s)', month) INTO empty;
    CONTINUE WHEN NOT empty;
    -- The lock of deliver_1: one with an old receipt may have come since.
    PERFORM pg_advisory_xact_lock(7425, 'last_position'::regclass::oid::integer);
    EXECUTE format('SELECT NOT EXISTS (SELECT FROM %s)', month) INTO empty;
    IF empty THEN
      EXECUTE format('DROP TABLE %s', month);
      RETURN NEXT name;
    END IF;
    RETURN;
  END LOOP;
EXCEPTION WHEN lock_not_available OR undefined_table THEN
  RETURN;
END
$$;

DO $$
DECLARE
  name text;
BEGIN
  -- As in 0005: whoever calls it must not choose whose tables it finds. A dump is restored without a search path.
  FOREACH name IN ARRAY ARRAY['refuse_deliveries_1()', 'drop_months_1(bigint)'] LOOP
    EXECUTE format('ALTER FUNCTION %s SET search_path = %I, pg_temp', name, current_schema);
  END LOOP;
END
$$;
