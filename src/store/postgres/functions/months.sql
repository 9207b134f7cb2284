-- Where deliveries are partitioned by month: deploy/postgres/partition-by-month.sql.

-- Makes the months up to `ahead` months from now, 24 at most: without one for the day, deliveries would be refused. Returns how many it made. It
-- has the rights of its owner, because the role of service-role.sql may make no tables.
CREATE OR REPLACE FUNCTION make_months_1(ahead integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER
SET lock_timeout = '2s'
AS $$
DECLARE
  last text;
  endless boolean;
  month date;
  name text;
  grantee oid;
  made integer := 0;
BEGIN
  IF (SELECT relkind FROM pg_class WHERE oid = 'delivery'::regclass) <> 'p' THEN
    RETURN 0;
  END IF;
  -- Replicas do this at the same time.
  PERFORM pg_advisory_xact_lock(7425, 1);
  LOOP
    -- The bounds are UUIDs, which begin with their milliseconds.
    SELECT max(substring(pg_get_expr(c.relpartbound, c.oid) FROM $re$TO \('([0-9a-f-]{36})'\)$re$)),
           bool_or(pg_get_expr(c.relpartbound, c.oid) LIKE '%TO (MAXVALUE)')
      INTO last, endless
      FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'delivery'::regclass;
    month := to_timestamp(('x' || lpad(substr(replace(last, '-', ''), 1, 12), 16, '0'))::bit(64)::bigint / 1000.0) AT TIME ZONE 'UTC';
    IF last IS NULL OR endless OR month > (now() AT TIME ZONE 'UTC') + least(ahead, 24) * interval '1 month' THEN
      RETURN made;
    END IF;
    name := 'delivery_' || to_char(month, 'YYYY_MM');
    -- ATTACH lets deliveries go on meanwhile; CREATE TABLE ... PARTITION OF would not.
    EXECUTE format('CREATE TABLE %I (LIKE delivery INCLUDING STORAGE)', name);
    EXECUTE format('ALTER TABLE delivery ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', name, last,
      (lpad(to_hex((extract(epoch FROM date_trunc('month', month::timestamp) + interval '1 month') * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid);
    -- Others, such as the role of service-role.sql, may use a month through `delivery` only.
    FOR grantee IN
      SELECT DISTINCT a.grantee FROM pg_class c, aclexplode(c.relacl) a
       WHERE c.oid = to_regclass(quote_ident(name)) AND a.grantee NOT IN (0, c.relowner)
    LOOP
      EXECUTE format('REVOKE ALL ON %I FROM %s', name, grantee::regrole);
    END LOOP;
    made := made + 1;
  END LOOP;
END
$$;

-- Drops a month that holds nothing any more and ended before a time, and returns its name. One month at most, so that no lock is
-- held for the next one, and none that somebody reads or drops: deliveries would wait. The next purge tries again.
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
