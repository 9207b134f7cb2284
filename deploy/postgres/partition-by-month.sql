-- Gives the table of deliveries a partition for each month, so that old months can be dropped. The owner of the tables runs it
-- once, while teslim runs:
--
--   psql "$DATABASE_URL" -v ON_ERROR_STOP=1 -f deploy/postgres/partition-by-month.sql
--
-- Existing deliveries become the first partition, which ends with next month; it makes the 24 months after that too. Servers
-- make later ones by themselves, three months ahead: without a partition for the day, deliveries would be refused.
-- teslim purge drops months that it has emptied.

-- Returns the smallest receipt of a day: a version 7 UUID begins with its milliseconds.
CREATE OR REPLACE FUNCTION teslim_first_receipt(day date) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
  SELECT (lpad(to_hex((extract(epoch FROM day) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
$$;

CREATE OR REPLACE FUNCTION teslim_make_month(month date) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  name text := 'delivery_' || to_char(month, 'YYYY_MM');
BEGIN
  EXECUTE format('CREATE TABLE %I PARTITION OF delivery FOR VALUES FROM (%L) TO (%L)',
    name, teslim_first_receipt(month), teslim_first_receipt((month + interval '1 month')::date));
  -- The role of service-role.sql has default privileges on new tables, but may use a month through `delivery` only.
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'teslim_service') THEN
    EXECUTE format('REVOKE ALL ON %I FROM teslim_service', name);
  END IF;
END
$$;

-- Reads all existing rows while deliveries come in, so that the next step does not have to.
DO $$
DECLARE
  until date := date_trunc('month', now() AT TIME ZONE 'UTC') + interval '2 months';
BEGIN
  EXECUTE format('ALTER TABLE delivery ADD CONSTRAINT delivery_until CHECK (receipt < %L) NOT VALID',
    teslim_first_receipt(until));
END
$$;
ALTER TABLE delivery VALIDATE CONSTRAINT delivery_until;

-- Takes milliseconds; deliveries wait that long.
DO $$
DECLARE
  until date := date_trunc('month', now() AT TIME ZONE 'UTC') + interval '2 months';
BEGIN
  SET LOCAL lock_timeout = '2s';
  LOCK TABLE delivery IN ACCESS EXCLUSIVE MODE;
  ALTER TABLE delivery RENAME TO delivery_before;
  ALTER INDEX delivery_receipt RENAME TO delivery_before_receipt;
  ALTER INDEX delivery_position RENAME TO delivery_before_position;
  CREATE TABLE delivery (LIKE delivery_before INCLUDING STORAGE) PARTITION BY RANGE (receipt);
  ALTER TABLE delivery ADD CONSTRAINT delivery_receipt PRIMARY KEY (receipt);
  CREATE INDEX delivery_position ON delivery (position);
  EXECUTE format('ALTER TABLE delivery ATTACH PARTITION delivery_before FOR VALUES FROM (MINVALUE) TO (%L)',
    teslim_first_receipt(until));
  FOR months IN 0..23 LOOP
    PERFORM teslim_make_month((until + months * interval '1 month')::date);
  END LOOP;
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'teslim_service') THEN
    REVOKE ALL ON delivery, delivery_before FROM teslim_service;
    GRANT SELECT, INSERT ON delivery TO teslim_service;
  END IF;
END
$$;
