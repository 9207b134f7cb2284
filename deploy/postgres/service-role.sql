-- Makes a role for the service that can change no table and no row of the history. The owner of the schema applies migrations,
-- with `teslim migrate`, and runs this: once, and again after a migration that adds history.
--
--   psql "$OWNER_URL" -v ON_ERROR_STOP=1 -f service-role.sql
--   psql "$OWNER_URL" -c '\password teslim_service'
--
-- An owner without CREATEROLE may do neither of the two for the role: an administrator first runs CREATE ROLE teslim_service LOGIN, and
-- later sets the password.

DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'teslim_service') THEN
    CREATE ROLE teslim_service LOGIN;
  END IF;
END
$$;

-- Whoever may connect may take the lock that every delivery waits for. Grant CONNECT to others that need it, such as monitoring.
DO $$
BEGIN
  EXECUTE format('REVOKE CONNECT, TEMPORARY ON DATABASE %I FROM PUBLIC', current_database());
  EXECUTE format('GRANT CONNECT ON DATABASE %I TO teslim_service', current_database());
END
$$;

REVOKE CREATE ON SCHEMA public FROM PUBLIC; -- PostgreSQL 14 still grants it
GRANT USAGE ON SCHEMA public TO teslim_service;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO teslim_service;
GRANT SELECT, USAGE, UPDATE ON ALL SEQUENCES IN SCHEMA public TO teslim_service;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO teslim_service;

-- What a later migration of this owner adds can be used at once.
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO teslim_service;
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT, USAGE, UPDATE ON SEQUENCES TO teslim_service;
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT EXECUTE ON FUNCTIONS TO teslim_service;

-- History can be added to and read only.
REVOKE UPDATE, DELETE ON delivery FROM teslim_service;
DO $$
DECLARE
  month regclass; -- if partition-by-month.sql has made some
BEGIN
  FOR month IN SELECT inhrelid FROM pg_inherits WHERE inhparent = 'delivery'::regclass LOOP
    EXECUTE format('REVOKE ALL ON %s FROM teslim_service', month);
  END LOOP;
END
$$;
REVOKE UPDATE, DELETE ON audit_event, history FROM teslim_service;
REVOKE INSERT, UPDATE, DELETE ON schema_migration, erased_customer, delivery_hour, roll_up FROM teslim_service;

-- Old deliveries are removed by the owner: DATABASE_URL=OWNER_URL teslim purge --older 400d. To let the service do it by itself
-- (TESLIM_RETENTION_DAYS), grant these two functions after this script:
--
--   GRANT EXECUTE ON FUNCTION purge_1, drop_months_1 TO teslim_service;
--
-- Payloads are overwritten by the owner, too: DATABASE_URL=OWNER_URL teslim delivery erase RECEIPTID, or order erase. To let operators do it
-- in the console and over HTTP, grant this function after this script. It leaves receipts, Status and times.
--
--   GRANT EXECUTE ON FUNCTION erase_1 TO teslim_service;
--
-- teslim customer remove --erase always needs the owner, and changes nothing if another role runs it.
REVOKE EXECUTE ON FUNCTION purge_1, drop_months_1, erase_1 FROM teslim_service;

-- Events of the audit log that are older than TESLIM_AUDIT_DAYS are deleted by delete_audit_1, which spares those of the last day. To delete
-- them as the owner instead, set TESLIM_AUDIT_DAYS=0, and after this script:
--
--   REVOKE EXECUTE ON FUNCTION delete_audit_1 FROM teslim_service;
