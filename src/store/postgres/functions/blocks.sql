-- A list of customers: a bit for each of these numbers below 8192.
CREATE OR REPLACE FUNCTION customer_list_1(numbers integer[]) RETURNS bytea
LANGUAGE plpgsql IMMUTABLE
AS $$
DECLARE
  number integer;
  list bytea := decode(repeat('00', (SELECT max(n) FROM unnest(numbers) n) / 8 + 1), 'hex');
BEGIN
  FOREACH number IN ARRAY numbers LOOP
    list := set_bit(list, number, 1);
  END LOOP;
  RETURN list;
END
$$;

-- Adds the next block that has deliveries if it is complete, and the list of its customers: positions become visible in order. With the
-- first one after a span of 64 blocks it adds the list of that span. Returns whether more is complete.
CREATE OR REPLACE FUNCTION add_block_1() RETURNS boolean
LANGUAGE plpgsql
SET lock_timeout = '3s'
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
AS $$
DECLARE
  missing bigint;
  incomplete bigint;
  last_span bigint;
BEGIN
  -- Another replica is adding it.
  IF NOT pg_try_advisory_xact_lock(7425, 3) THEN
    RETURN false;
  END IF;
  SELECT (SELECT min(position) / 4096 FROM delivery
           WHERE position >= coalesce((SELECT (max(block) + 1) * 4096 FROM delivery_block), 0)),
         (SELECT max(position) / 4096 FROM delivery),
         (SELECT max(block) / 64 FROM delivery_block)
    INTO missing, incomplete, last_span;
  IF missing IS NULL OR missing >= incomplete THEN
    RETURN false;
  END IF;
  INSERT INTO delivery_block (block, customer, offsets)
  SELECT missing, d.customer, string_agg((d.position % 4096)::text, ',' ORDER BY d.position)
    FROM delivery d
   WHERE d.position >= missing * 4096 AND d.position < (missing + 1) * 4096
   GROUP BY d.customer;
  -- A purge has just removed all of it.
  IF NOT FOUND THEN
    RETURN true;
  END IF;
  INSERT INTO block_customers (block, customers)
  SELECT missing, customer_list_1(array_agg(DISTINCT (customer % 8192)::integer)) FROM delivery_block WHERE block = missing;
  IF last_span < missing / 64 THEN
    INSERT INTO span_customers (span, customers)
    SELECT last_span, customer_list_1(array_agg(DISTINCT (customer % 8192)::integer)) FROM delivery_block
     WHERE block >= last_span * 64 AND block < (last_span + 1) * 64;
  END IF;
  RETURN missing + 1 < incomplete;
END
$$;
