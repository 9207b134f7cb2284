-- Makes the deliveries of teslim a table with a partition for each month, so that old months can be dropped. Run once, by
-- the owner of the tables, with teslim running:
--
--   psql "$DATABASE_URL" -v ON_ERROR_STOP=1 -f deploy/postgres/partition-by-month.sql
--
-- What is there already becomes the first partition, up to the end of next month; the 24 months after it are made too.
-- Later ones: SELECT teslim_make_month('2029-01-01'). Without a partition for the day, deliveries are refused.
-- An old month goes with: DROP TABLE delivery_2026_12.

-- The smallest receipt (a version 7 UUID begins with its milliseconds) of a day.
CREATE OR REPLACE FUNCTION teslim_first_receipt(day date) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
  SELECT (lpad(to_hex((extract(epoch FROM day) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
$$;

CREATE OR REPLACE FUNCTION teslim_make_month(month date) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('CREATE TABLE delivery_%s PARTITION OF delivery FOR VALUES FROM (%L) TO (%L)',
    to_char(month, 'YYYY_MM'), teslim_first_receipt(month), teslim_first_receipt((month + interval '1 month')::date));
END
$$;

-- Reads all that is there, beside the deliveries that come in: so the step after it need not.
DO $$
DECLARE
  until date := date_trunc('month', now() AT TIME ZONE 'UTC') + interval '2 months';
BEGIN
  EXECUTE format('ALTER TABLE delivery ADD CONSTRAINT delivery_until CHECK (receipt < %L) NOT VALID',
    teslim_first_receipt(until));
END
$$;
ALTER TABLE delivery VALIDATE CONSTRAINT delivery_until;

-- Takes milliseconds, in which deliveries wait.
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
  CREATE UNIQUE INDEX delivery_receipt ON delivery (receipt);
  CREATE INDEX delivery_position ON delivery (position);
  EXECUTE format('ALTER TABLE delivery ATTACH PARTITION delivery_before FOR VALUES FROM (MINVALUE) TO (%L)',
    teslim_first_receipt(until));
  FOR months IN 0..23 LOOP
    PERFORM teslim_make_month((until + months * interval '1 month')::date);
  END LOOP;
END
$$;
