-- Notes the times of a batch: the latest time, a minute ahead, so that this is written once a minute, and how far a clock was put
-- back. The slack is that of src/store/sql/deliveries/look-ups.ts. The caller holds the lock of deliver_1.
CREATE OR REPLACE FUNCTION note_times_1(earliest bigint, latest bigint) RETURNS void
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
AS $$
DECLARE
  last bigint := greatest((SELECT max(u.high) FROM unordered_time u), latest + 60000);
  first bigint := least(earliest, last - 300000);
BEGIN
  -- Deletes what the new row contains: the row of the latest time, and those of earlier steps back that this one reaches into.
  WITH contained AS (
    DELETE FROM unordered_time u
     WHERE u.high - u.low <= 300000 OR (first < last - 300000 AND u.high >= first)
    RETURNING u.low
  )
  SELECT CASE WHEN first < last - 300000 THEN least(first, min(c.low)) ELSE first END INTO first FROM contained c;
  INSERT INTO unordered_time (low, high) VALUES (first, last);
END
$$;

-- Stores a batch in the order of its arrays, in one round trip, and refuses the deliveries of erased customers. The caller,
-- src/store/postgres/deliveries/batch.ts, describes the echo rule, and computes for each delivery:
--   before  index in the batch of the order's previous delivery; NULL for the first one of its order
--   first   index of the delivery that this one echoes within the batch; its own index if it is no echo of one
--   final   whether it is the last delivery of its order in the batch
--   start   where its bytes begin in `payloads`
-- A delivery with an idempotency key shares neither key nor order with another one of the batch. Returns rows only for
-- duplicates of earlier batches, for reused keys and for erased customers.
CREATE OR REPLACE FUNCTION deliver_1(
  customers bigint[], receipts uuid[], order_ids text[], statuses smallint[], times bigint[],
  keys text[], not_befores bigint[],
  befores integer[], firsts integer[], finals boolean[], starts integer[], lengths integer[], payloads bytea,
  origins bytea[]
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
  noted boolean; -- whether unordered_time says enough about the times
  moved boolean; -- whether the server writes on another timeline than before, a lower one as well: a new cluster begins at 1
  kept integer[];
  omitted integer[] := '{}'; -- places that are not stored
BEGIN
  -- Admits one batch at a time until its commit, so that positions become visible in order: a reader that sees one position
  -- sees all before it. A separate statement, so that the next ones see what was committed while this one waited.
  PERFORM pg_advisory_xact_lock(7425, 'last_position'::regclass::oid::integer);
  -- One statement for all four, because a statement costs as much as the look-up. An empty batch, which /readyz sends, writes nothing.
  SELECT CASE WHEN cardinality(receipts) > 0 THEN setval('last_position', last_value + cardinality(receipts)) - cardinality(receipts) END,
         EXISTS (SELECT FROM erased_customer e WHERE e.customer = ANY (customers)),
         EXISTS (SELECT FROM (SELECT u.low, u.high FROM unordered_time u ORDER BY u.high DESC LIMIT 1) u
                  WHERE u.low <= ALL (times) AND u.high >= ALL (times)),
         cardinality(receipts) > 0
           AND timeline_1() IS DISTINCT FROM (SELECT h.timeline FROM history h ORDER BY h.resumed_after DESC LIMIT 1)
    INTO STRICT last, erased, noted, moved
    FROM last_position;
  IF moved THEN
    last := begin_history_1(cardinality(receipts));
  END IF;
  IF NOT noted AND cardinality(receipts) > 0 THEN
    PERFORM note_times_1((SELECT min(t) FROM unnest(times) t), (SELECT max(t) FROM unnest(times) t));
  END IF;
  -- Listeners hold this lock and are notified at the commit. A listener that starts meanwhile waits for this commit.
  IF cardinality(receipts) > 0 AND NOT pg_try_advisory_xact_lock(7425, -'last_position'::regclass::oid::integer) THEN
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
      SELECT n, CASE WHEN CASE WHEN d.erased THEN rtrim(d.payload, ' ') = erased_payload_1(substr(payloads, starts[n], lengths[n]))
                               ELSE d.payload = substr(payloads, starts[n], lengths[n]) END
                     THEN 'duplicate' ELSE 'key-reused' END,
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
  WITH placed AS MATERIALIZED (
    -- The echo rule, for the first delivery of each order in the batch and its echoes there.
    SELECT i.*, s.latest_position, d.position AS repeated, d.erased, d.receipt AS first_receipt, d.received_at AS first_received_at
      FROM (
             -- unnest, because a look-up by number in an array of texts or bytes walks through those before it.
             SELECT n::integer AS place, customers[n] AS customer, receipt, order_id,
                    statuses[n] AS status, times[n] AS received_at, befores[n] AS before, firsts[n] AS first, finals[n] AS final,
                    substr(payloads, starts[n], lengths[n]) AS payload,
                    substr(sha256(substr(payloads, starts[n], lengths[n])), 1, 16) AS digest,
                    origin
               FROM unnest(receipts, order_ids, origins) WITH ORDINALITY AS u (receipt, order_id, origin, n)
              WHERE n <> ALL (omitted)
             OFFSET 0
           ) i
      LEFT JOIN order_state s ON s.customer = i.customer AND s.order_id = i.order_id
      LEFT JOIN delivery d ON d.position = CASE WHEN befores[i.first] IS NULL AND i.digest = s.digest THEN s.state_position END
  ),
  stored AS (
    INSERT INTO delivery (position, receipt, customer, order_id, status, received_at, echo_of, previous, erased, payload, origin)
    SELECT last + p.place, p.receipt, p.customer, p.order_id, p.status, p.received_at,
           coalesce(p.repeated, CASE WHEN p.first <> p.place THEN last + p.first END),
           coalesce(last + p.before, p.latest_position), p.erased,
           -- An echo of what was erased must not bring it back.
           CASE WHEN p.erased THEN erased_payload_1(p.payload) ELSE p.payload END,
           CASE WHEN p.erased THEN substr(p.origin, 1, 16) ELSE p.origin END
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
  SELECT p.place, 'duplicate', p.first_receipt, p.order_id, p.status, p.first_received_at
    FROM placed p
   WHERE p.repeated IS NOT NULL;
END
$$;
