-- Runs with programs from 0002 on.

-- Tells which blocks of delivery_block a customer has rows in (docs/decisions/0028-blocks-of-positions.md). There is a row for each
-- block up to the last one here; later blocks have none yet.
CREATE TABLE block_customers (
  block     bigint PRIMARY KEY,
  customers bytea  NOT NULL -- a bit for each customer, number % 8192, the lowest bit of a byte first
);

-- Adds the next block if it is complete, and the customers of the next block that has no row here. Returns whether there is more to add.
CREATE FUNCTION add_block_2() RETURNS boolean
LANGUAGE plpgsql
SET lock_timeout = '3s'
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
AS $$
DECLARE
  more boolean;
  missing bigint;
  last bigint;
  numbers integer[];
  number integer;
  list bytea;
BEGIN
  -- As in add_block_1, which programs of earlier versions call.
  IF NOT pg_try_advisory_xact_lock(7425, 3) THEN
    RETURN false;
  END IF;
  more := add_block_1();
  SELECT coalesce((SELECT max(block) + 1 FROM block_customers), (SELECT min(block) FROM delivery_block)),
         (SELECT max(block) FROM delivery_block)
    INTO missing, last;
  IF missing IS NULL OR missing > last THEN
    RETURN more;
  END IF;
  numbers := ARRAY(SELECT DISTINCT (customer % 8192)::integer FROM delivery_block WHERE block = missing);
  list := decode(repeat('00', coalesce((SELECT max(n) FROM unnest(numbers) n), 0) / 8 + 1), 'hex');
  FOREACH number IN ARRAY numbers LOOP
    list := set_bit(list, number, 1);
  END LOOP;
  INSERT INTO block_customers (block, customers) VALUES (missing, list);
  RETURN more OR missing < last;
END
$$;

-- As in 0007: whoever has rights on audit_event gets the same here.
DO $$
DECLARE
  may record;
BEGIN
  FOR may IN
    SELECT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END AS grantee, a.privilege_type
      FROM pg_class c, aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) a
     WHERE c.oid = 'audit_event'::regclass
       AND a.privilege_type IN ('SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE')
  LOOP
    EXECUTE format('GRANT %s ON block_customers TO %s', may.privilege_type, may.grantee);
  END LOOP;
END
$$;
