-- Runs with programs from 0002 on.

-- Finds the deliveries of a customer (docs/decisions/0028-blocks-of-positions.md). A block is 4,096 positions, and is added when
-- all of them are in use.
CREATE TABLE delivery_block (
  block    bigint NOT NULL, -- position / 4096
  customer bigint NOT NULL, -- 0 for a block that has no deliveries
  offsets  text   COLLATE "C" NOT NULL, -- position % 4096 of each delivery, in ascending order, separated by commas
  PRIMARY KEY (block, customer)
);

-- Adds the next block if it is complete: positions become visible in order. Returns whether the one after it is complete, too.
CREATE FUNCTION add_block_1() RETURNS boolean
LANGUAGE plpgsql
SET lock_timeout = '3s'
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
AS $$
DECLARE
  missing bigint;
  incomplete bigint;
BEGIN
  -- Another replica is adding it.
  IF NOT pg_try_advisory_xact_lock(7425, 3) THEN
    RETURN false;
  END IF;
  SELECT coalesce((SELECT max(block) + 1 FROM delivery_block), (SELECT min(position) / 4096 FROM delivery)),
         (SELECT max(position) / 4096 FROM delivery)
    INTO missing, incomplete;
  IF missing IS NULL OR missing >= incomplete THEN
    RETURN false;
  END IF;
  INSERT INTO delivery_block (block, customer, offsets)
  SELECT missing, d.customer, string_agg((d.position % 4096)::text, ',' ORDER BY d.position)
    FROM delivery d
   WHERE d.position >= missing * 4096 AND d.position < (missing + 1) * 4096
   GROUP BY d.customer;
  IF NOT FOUND THEN
    INSERT INTO delivery_block (block, customer, offsets) VALUES (missing, 0, '');
  END IF;
  RETURN missing + 1 < incomplete;
END
$$;

-- Another role than the owner of the older tables may be running this: whoever has rights on audit_event gets the same here.
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
    EXECUTE format('GRANT %s ON delivery_block TO %s', may.privilege_type, may.grantee);
  END LOOP;
END
$$;
