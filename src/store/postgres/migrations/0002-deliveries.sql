CREATE TABLE api_key (
  id         text   COLLATE "C" PRIMARY KEY,
  customer   bigint NOT NULL REFERENCES customer (number),
  hash       bytea  NOT NULL UNIQUE, -- SHA-256
  label      text   NOT NULL,
  created_at bigint NOT NULL,        -- these are milliseconds since 1970
  expires_at bigint,
  revoked_at bigint
);

-- Apart from the key, so that recording a use does not count as a change of the account.
CREATE TABLE api_key_use (
  key_id  text   COLLATE "C" PRIMARY KEY REFERENCES api_key (id),
  used_at bigint NOT NULL,
  address text   NOT NULL
);

-- One row, counted up with every change of a customer or key: replicas and caches watch it.
CREATE TABLE account_version (
  number bigint NOT NULL
);
INSERT INTO account_version (number) VALUES (0);

-- No foreign keys and one unique index, whose key begins with the time of receipt: so that months of it can become
-- partitions (docs/scaling.md).
CREATE TABLE delivery (
  position    bigint   NOT NULL, -- rises in the order of commits: see deliver_1
  receipt     uuid     NOT NULL, -- version 7
  customer    bigint   NOT NULL,
  order_id    text     COLLATE "C",
  status      smallint NOT NULL,
  received_at bigint   NOT NULL, -- milliseconds since 1970
  echo_of     bigint,            -- position of the delivery whose bytes these repeat
  previous    bigint,            -- position of the order's delivery before: its history is a chain
  payload     bytea    NOT NULL
);
-- Both grow at their ends and stay cheap.
CREATE UNIQUE INDEX delivery_receipt ON delivery (receipt);
CREATE INDEX delivery_position ON delivery (position);
-- Orders are JSON, which the default would compress row by row at the cost of the commit; EXTERNAL keeps them as they are.
ALTER TABLE delivery ALTER COLUMN payload SET STORAGE EXTERNAL;

CREATE TABLE order_state (
  customer        bigint   NOT NULL,
  order_id        text     COLLATE "C" NOT NULL,
  status          smallint NOT NULL,
  state_position  bigint   NOT NULL, -- the delivery that made the state
  latest_position bigint   NOT NULL, -- the last delivery, which may be an echo of that one
  digest          bytea    NOT NULL, -- first half of the SHA-256 of the state's payload
  PRIMARY KEY (customer, order_id)
) WITH (fillfactor = 80); -- room for the next version of a row beside it

CREATE TABLE idempotency (
  customer bigint NOT NULL,
  key      text   COLLATE "C" NOT NULL,
  position bigint NOT NULL, -- the delivery it came with first
  kept_at  bigint NOT NULL, -- milliseconds since 1970
  PRIMARY KEY (customer, key)
);
CREATE INDEX idempotency_kept_at ON idempotency (kept_at);

-- The last position given out. A sequence, because a row that every batch updates would grow by a dead version each for
-- as long as any old transaction is open.
CREATE SEQUENCE last_position MINVALUE 0 START 0;

-- Stores a batch in the order of its arrays, in one round trip. What a batch says of itself is worked out by the caller:
--   before  where in the batch the delivery before of the same order stands, NULL for the first one of its order
--   first   where the first one of the same bytes stands, with none of other bytes between: itself, unless it is an echo
--   final   whether it is the batch's last one of its order
--   start   where in `payloads` its bytes begin
-- One with an idempotency key shares neither key nor order with another one of the batch. Answers only for those that
-- repeat what was stored before.
CREATE FUNCTION deliver_1(
  customers bigint[], receipts uuid[], order_ids text[], statuses smallint[], times bigint[],
  keys text[], not_befores bigint[],
  befores integer[], firsts integer[], finals boolean[], starts integer[], lengths integer[], payloads bytea
) RETURNS TABLE (place integer, outcome text, receipt uuid, order_id text, status smallint, received_at bigint)
LANGUAGE plpgsql
SET lock_timeout = '3s'
-- The tables only grow, and what they are asked for is always a few rows by an index: no statistics to wait for.
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
  -- One batch at a time, up to and with its commit: so positions become visible in their order, and who has seen one has
  -- seen all before it. A statement of its own, so that the next ones see what was committed while this one waited.
  PERFORM pg_advisory_xact_lock(7425, 'last_position'::regclass::oid::integer);
  SELECT last_value INTO STRICT last FROM last_position;
  PERFORM setval('last_position', last + cardinality(receipts));
  -- Heard once it is committed. Who listens holds this lock; who comes to listen meanwhile waits for our commit.
  IF NOT pg_try_advisory_xact_lock(7425, -'last_position'::regclass::oid::integer) THEN
    PERFORM pg_notify('teslim_delivery', '');
  END IF;

  IF keys IS NOT NULL THEN
    kept := ARRAY(
      SELECT n FROM generate_series(1, cardinality(keys)) n
        JOIN idempotency k ON k.customer = customers[n] AND k.key = keys[n] AND k.kept_at >= not_befores[n]
        -- It may have been dropped with its month.
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
    -- Twice as many as may have come, so that the table shrinks without ever pausing for it.
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
    -- The first ones of an order in the batch may repeat the state that is there: then that came first, unless it has been
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
