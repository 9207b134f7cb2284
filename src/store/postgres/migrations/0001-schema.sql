-- What a store in PostgreSQL consists of.

\ir ../../sql/tables.sql

-- Deliveries

-- There are no foreign keys, and the key of the only unique index begins with the time of receipt, so that the table can be
-- partitioned by month (docs/scaling.md).
CREATE TABLE delivery (
  position    bigint   NOT NULL, -- increases in commit order: see deliver_1
  receipt     uuid     CONSTRAINT delivery_receipt PRIMARY KEY, -- version 7
  customer    bigint   NOT NULL,
  order_id    text     COLLATE "C",
  status      smallint NOT NULL,
  received_at bigint   NOT NULL,
  echo_of     bigint,            -- position of the delivery with the same bytes that this one repeats
  previous    bigint,            -- position of the order's previous delivery, which makes its history a chain
  erased      boolean,           -- true since its payload and sender are erased; NULL before, which takes no room
  payload     bytea    NOT NULL,
  origin      bytea              -- API key, address and request id, as src/store/sql/deliveries/origins.ts writes them
);
-- Entries are added at the end of both indexes, which stay cheap.
CREATE INDEX delivery_position ON delivery (position);
-- EXTERNAL stores payloads uncompressed: by default PostgreSQL would compress each one, which makes commits slower.
ALTER TABLE delivery ALTER COLUMN payload SET STORAGE EXTERNAL;

-- The last position given out. It is a sequence because every update of a row leaves a dead version behind, and none of them
-- can be removed while an old transaction is open.
CREATE SEQUENCE last_position MINVALUE 0 START 0;

-- A row for each timeline of the database on which deliveries were stored (docs/decisions/0047-positions-are-never-given-twice.md). No
-- delivery has a position between `last_position` and `resumed_after`: what had one was lost when that timeline began.
CREATE TABLE history (
  resumed_after bigint PRIMARY KEY, -- positions were given from the one after this on
  last_position bigint NOT NULL,    -- of the last delivery that was left
  timeline      bigint,             -- NULL where PostgreSQL does not tell
  began_at      bigint NOT NULL     -- when the first batch came
);

CREATE TABLE idempotency (
  customer bigint NOT NULL,
  key      text   COLLATE "C" NOT NULL,
  position bigint NOT NULL, -- the first delivery with this key
  kept_at  bigint NOT NULL,
  PRIMARY KEY (customer, key)
);
CREATE INDEX idempotency_kept_at ON idempotency (kept_at);

-- The numbers of customers with `erased_at`. deliver_1 reads this table, not `customer`, because deliveries must not wait for
-- whoever locks the customers. There is no foreign key for the same reason.
CREATE TABLE erased_customer (
  customer bigint PRIMARY KEY
);

-- Several processes may push. Whoever changes the progress of several endpoints locks the rows by their ids in ascending order, and before
-- those of other tables.
ALTER TABLE webhook_progress
  ADD COLUMN holder       text COLLATE "C", -- the process that has the lease, from and until when by the clock of the database
  ADD COLUMN leased_at    bigint,
  ADD COLUMN leased_until bigint,
  ADD COLUMN timeline     bigint; -- of the lease, which ends with it: what the holder knows may be lost

-- Functions

\ir ../functions/audit.sql
\ir ../functions/history.sql
\ir ../functions/deliver.sql
\ir ../functions/erasure.sql
\ir ../functions/deliveries-before.sql
\ir ../functions/blocks.sql
\ir ../functions/roll-ups.sql
\ir ../functions/purge.sql
\ir ../functions/months.sql

INSERT INTO history (resumed_after, last_position, timeline, began_at)
VALUES (0, 0, timeline_1(), (extract(epoch FROM now()) * 1000)::bigint);

-- Rights

DO $$
DECLARE
  name text;
  grantee text;
BEGIN
  -- Whoever runs a function with its owner's rights must not choose whose tables it finds, and a dump is restored without a search path.
  FOREACH name IN ARRAY ARRAY['refuse_deliveries_1', 'erase_attempts_1', 'erase_1', 'delete_audit_1', 'count_deliveries_1', 'purge_1', 'make_months_1', 'drop_months_1'] LOOP
    EXECUTE format('ALTER FUNCTION %I SET search_path = %I, pg_temp', name, current_schema);
  END LOOP;
  -- They have the rights of their owner.
  REVOKE EXECUTE ON FUNCTION delete_audit_1, count_deliveries_1, make_months_1, purge_1, drop_months_1, erase_1 FROM PUBLIC;
  -- Whoever adds deliveries reads it, and only the owner erases.
  GRANT SELECT ON erased_customer TO PUBLIC;
  -- The default privileges that service-role.sql gives would let its role do more, if it ran before this.
  FOR name, grantee IN
    SELECT c.relname, a.grantee::regrole::text FROM pg_class c, aclexplode(c.relacl) a
     WHERE c.oid IN ('erased_customer'::regclass, 'delivery_hour'::regclass, 'roll_up'::regclass) AND a.grantee NOT IN (0, c.relowner)
  LOOP
    EXECUTE format('REVOKE INSERT, UPDATE, DELETE, TRUNCATE ON %I FROM %s', name, grantee);
  END LOOP;
  FOR name, grantee IN
    SELECT DISTINCT c.relname, a.grantee::regrole::text FROM pg_class c, aclexplode(c.relacl) a
     WHERE c.oid IN ('audit_event'::regclass, 'history'::regclass) AND a.grantee NOT IN (0, c.relowner)
  LOOP
    EXECUTE format('REVOKE UPDATE, DELETE, TRUNCATE ON %I FROM %s', name, grantee);
  END LOOP;
  FOR name, grantee IN
    SELECT p.proname, a.grantee::regrole::text FROM pg_proc p, aclexplode(p.proacl) a
     WHERE p.oid IN ('purge_1'::regproc, 'drop_months_1'::regproc, 'erase_1'::regproc) AND a.grantee NOT IN (0, p.proowner)
  LOOP
    EXECUTE format('REVOKE EXECUTE ON FUNCTION %I FROM %s', name, grantee);
  END LOOP;
END
$$;
