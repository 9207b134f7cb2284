CREATE TABLE api_key (
  id         text   COLLATE "C" PRIMARY KEY,
  customer   bigint NOT NULL REFERENCES customer (number),
  hash       bytea  NOT NULL UNIQUE, -- SHA-256
  label      text   NOT NULL,
  created_at bigint NOT NULL,        -- these are milliseconds since 1970
  expires_at bigint,
  revoked_at bigint
);

-- Separate from api_key, so that recording a use does not count as a change of the account.
CREATE TABLE api_key_use (
  key_id  text   COLLATE "C" PRIMARY KEY REFERENCES api_key (id),
  used_at bigint NOT NULL,
  address text   NOT NULL
);

-- One row, incremented with every change of a customer or API key. Replicas and caches watch it.
CREATE TABLE account_version (
  number bigint NOT NULL
);
INSERT INTO account_version (number) VALUES (0);

-- There are no foreign keys, and the key of the only unique index begins with the time of receipt, so that the table can be
-- partitioned by month (docs/scaling.md).
CREATE TABLE delivery (
  position    bigint   NOT NULL, -- increases in commit order: see deliver_1
  receipt     uuid     NOT NULL, -- version 7
  customer    bigint   NOT NULL,
  order_id    text     COLLATE "C",
  status      smallint NOT NULL,
  received_at bigint   NOT NULL, -- milliseconds since 1970
  echo_of     bigint,            -- position of the delivery with the same bytes that this one repeats
  previous    bigint,            -- position of the order's previous delivery, which makes its history a chain
  payload     bytea    NOT NULL
);
-- Entries are added at the end of both indexes, which stay cheap.
CREATE UNIQUE INDEX delivery_receipt ON delivery (receipt);
CREATE INDEX delivery_position ON delivery (position);
-- EXTERNAL stores payloads uncompressed: by default PostgreSQL would compress each one, which makes commits slower.
ALTER TABLE delivery ALTER COLUMN payload SET STORAGE EXTERNAL;

CREATE TABLE order_state (
  customer        bigint   NOT NULL,
  order_id        text     COLLATE "C" NOT NULL,
  status          smallint NOT NULL,
  state_position  bigint   NOT NULL, -- the delivery that made the state
  latest_position bigint   NOT NULL, -- the latest delivery, which may be an echo of that one
  digest          bytea    NOT NULL, -- first half of the SHA-256 of the state's payload
  PRIMARY KEY (customer, order_id)
) WITH (fillfactor = 80); -- leaves room for the next version of a row on the same page

CREATE TABLE idempotency (
  customer bigint NOT NULL,
  key      text   COLLATE "C" NOT NULL,
  position bigint NOT NULL, -- the first delivery with this key
  kept_at  bigint NOT NULL, -- milliseconds since 1970
  PRIMARY KEY (customer, key)
);
CREATE INDEX idempotency_kept_at ON idempotency (kept_at);

-- The last position given out. It is a sequence because every update of a row leaves a dead version behind, and none of them
-- can be removed while an old transaction is open.
CREATE SEQUENCE last_position MINVALUE 0 START 0;

-- Stores a batch in the order of its arrays, in one round trip. The caller computes for each delivery:
--   before  index in the batch of the order's previous delivery; NULL for the first one of its order
--   first   index of the delivery that this one echoes within the batch; its own index if it is no echo of one
--   final   whether it is the last delivery of its order in the batch
--   start   where its bytes begin in `payloads`
-- A delivery with an idempotency key shares neither key nor order with another one of the batch. Returns rows only for
-- duplicates of earlier batches and for reused keys.
CREATE FUNCTION deliver_1(
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
  kept integer[] := '{}';
BEGIN
  -- Admits one batch at a time until its commit, so that positions become visible in order: a reader that sees one position
  -- sees all before it. A separate statement, so that the next ones see what was committed while this one waited.
  PERFORM pg_advisory_xact_lock(7425, 'last_position'::regclass::oid::integer);
  SELECT last_value INTO STRICT last FROM last_position;
  PERFORM setval('last_position', last + cardinality(receipts));
  -- Listeners hold this lock and are notified at the commit. A listener that starts meanwhile waits for this commit.
  IF NOT pg_try_advisory_xact_lock(7425, -'last_position'::regclass::oid::integer) THEN
    PERFORM pg_notify('teslim_delivery', '');
  END IF;

  IF keys IS NOT NULL THEN
    kept := ARRAY(
      SELECT n FROM generate_series(1, cardinality(keys)) n
        JOIN idempotency k ON k.customer = customers[n] AND k.key = keys[n] AND k.kept_at >= not_befores[n]
        -- The delivery may have been dropped with its month.
        JOIN delivery d ON d.position = k.position);
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
     WHERE keys[n] IS NOT NULL AND n <> ALL (kept)
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
     WHERE n <> ALL (kept)
  ),
  placed AS MATERIALIZED (
    -- Finds the delivery that the first ones of an order in the batch echo: the one that made the state, unless it has been
    -- dropped with its month.
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
