-- Counts the next `look` deliveries and returns their number; 0 if another session is counting. Positions become visible in
-- order (see deliver_1), so none before the last one that is counted can appear later.
--
-- It has the rights of its owner, because the role of deploy/postgres/service-role.sql may not change the counts.
CREATE OR REPLACE FUNCTION count_deliveries_1(look integer) RETURNS integer
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
