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

-- Stores a batch in the order of its arrays, in one round trip. `starts` and `lengths` cut `payloads`. An idempotency key
-- stands at most once in a batch. Answers for those deliveries only that were not stored under their own receipt.
CREATE FUNCTION deliver_1(
  customers text[], receipts uuid[], order_ids text[], statuses smallint[], times bigint[],
  keys text[], not_befores bigint[], starts integer[], lengths integer[], payloads bytea
) RETURNS TABLE (
  ordinal bigint, outcome text, receipt uuid, order_id text, status smallint, received_at bigint
)
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
BEGIN
  -- One batch at a time, up to and with its commit: so positions become visible in their order, and who has seen one has
  -- seen all before it. A statement of its own, so that the next one sees what was committed while this one waited.
  PERFORM pg_advisory_xact_lock(7425, 'last_position'::regclass::oid::integer);
  SELECT last_value INTO STRICT last FROM last_position;
  PERFORM setval('last_position', last + cardinality(receipts));

  RETURN QUERY
  WITH incoming AS MATERIALIZED (
    SELECT i.ordinal, c.number AS customer, i.receipt, i.order_id, i.status, i.received_at, i.key, i.not_before,
           substr(payloads, i.start, i.length) AS payload
      FROM unnest(customers, receipts, order_ids, statuses, times, keys, not_befores, starts, lengths)
           WITH ORDINALITY AS i (customer, receipt, order_id, status, received_at, key, not_before, start, length, ordinal)
      LEFT JOIN customer c ON c.id = i.customer
  ),
  kept AS MATERIALIZED (
    SELECT i.ordinal, d.payload = i.payload AS same, d.receipt, d.order_id, d.status, d.received_at
      FROM incoming i
      JOIN idempotency k ON k.customer = i.customer AND k.key = i.key AND k.kept_at >= i.not_before
      JOIN delivery d ON d.position = k.position
  ),
  fresh AS MATERIALIZED (
    SELECT i.*, last + row_number() OVER (ORDER BY i.ordinal) AS position, substr(sha256(i.payload), 1, 16) AS digest
      FROM incoming i
     WHERE i.customer IS NOT NULL AND i.ordinal NOT IN (SELECT k.ordinal FROM kept k)
  ),
  compared AS (
    SELECT f.*, s.state_position AS state_before,
           f.order_id IS NOT NULL
             AND f.digest IS NOT DISTINCT FROM coalesce(lag(f.digest) OVER same_order, s.digest) AS is_echo,
           CASE WHEN f.order_id IS NOT NULL
                THEN coalesce(lag(f.position) OVER same_order, s.latest_position) END AS previous
      FROM fresh f
      LEFT JOIN order_state s ON s.customer = f.customer AND s.order_id = f.order_id
    WINDOW same_order AS (PARTITION BY f.customer, f.order_id ORDER BY f.position)
  ),
  placed AS MATERIALIZED (
    -- That of the first delivery of these bytes.
    SELECT c.*, CASE WHEN c.is_echo
                     THEN coalesce(max(c.position) FILTER (WHERE NOT c.is_echo) OVER so_far, c.state_before)
                     ELSE c.position END AS first_position
      FROM compared c
    WINDOW so_far AS (PARTITION BY c.customer, c.order_id ORDER BY c.position)
  ),
  stored AS (
    INSERT INTO delivery (position, receipt, customer, order_id, status, received_at, echo_of, previous, payload)
    SELECT p.position, p.receipt, p.customer, p.order_id, p.status, p.received_at,
           CASE WHEN p.is_echo THEN p.first_position END, p.previous, p.payload
      FROM placed p
     ORDER BY p.position
  ),
  states AS (
    INSERT INTO order_state AS s (customer, order_id, status, state_position, latest_position, digest)
    SELECT DISTINCT ON (p.customer, p.order_id)
           p.customer, p.order_id, p.status, p.first_position, p.position, p.digest
      FROM placed p
     WHERE p.order_id IS NOT NULL
     ORDER BY p.customer, p.order_id, p.position DESC
    ON CONFLICT (customer, order_id) DO UPDATE
       SET status = excluded.status, state_position = excluded.state_position,
           latest_position = excluded.latest_position, digest = excluded.digest
  ),
  keeping AS (
    INSERT INTO idempotency (customer, key, position, kept_at)
    SELECT p.customer, p.key, p.first_position, p.received_at FROM placed p WHERE p.key IS NOT NULL
    ON CONFLICT (customer, key) DO UPDATE SET position = excluded.position, kept_at = excluded.kept_at
  )
  SELECT k.ordinal, CASE WHEN k.same THEN 'duplicate' ELSE 'key-reused' END,
         k.receipt, k.order_id, k.status, k.received_at
    FROM kept k
  UNION ALL
  SELECT i.ordinal, 'no-customer', NULL, NULL, NULL, NULL FROM incoming i WHERE i.customer IS NULL
  UNION ALL
  SELECT p.ordinal, 'duplicate', coalesce(b.receipt, d.receipt), p.order_id, p.status, coalesce(b.received_at, d.received_at)
    FROM placed p
    LEFT JOIN placed b ON b.position = p.first_position
    LEFT JOIN delivery d ON d.position = p.first_position
   WHERE p.is_echo;

  -- Twice as many as may have come, so that the table shrinks without ever pausing for it.
  IF array_remove(keys, NULL) <> '{}' THEN
    DELETE FROM idempotency WHERE ctid = ANY (ARRAY(
      SELECT k.ctid FROM idempotency k
       WHERE k.kept_at < (SELECT min(n) FROM unnest(not_befores) n)
       ORDER BY k.kept_at LIMIT 2 * cardinality(keys)));
  END IF;
END
$$;
