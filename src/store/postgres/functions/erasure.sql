-- Runs at the end of the statement that erases a customer, so that it holds the lock of deliver_1 for the commit only. The
-- deliveries of a batch that got the lock before are committed, and will be erased. A later batch sees the row.
CREATE FUNCTION refuse_deliveries_1() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
  IF EXISTS (SELECT FROM erased_customer WHERE customer = NEW.number) THEN
    RETURN NULL;
  END IF;
  PERFORM pg_advisory_xact_lock(7425, 'last_position'::regclass::oid::integer);
  INSERT INTO erased_customer (customer) VALUES (NEW.number) ON CONFLICT DO NOTHING;
  RETURN NULL;
END
$$;
CREATE TRIGGER customer_erased AFTER INSERT OR UPDATE OF erased_at ON customer
  FOR EACH ROW WHEN (NEW.erased_at IS NOT NULL) EXECUTE FUNCTION refuse_deliveries_1();

-- The answer to an attempt may hold what was sent to the endpoint.
CREATE FUNCTION erase_attempts_1() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
  DELETE FROM webhook_attempt WHERE customer = NEW.number;
  RETURN NULL;
END
$$;
CREATE TRIGGER customer_attempts_erased AFTER UPDATE OF erased_at ON customer
  FOR EACH ROW WHEN (NEW.erased_at IS NOT NULL) EXECUTE FUNCTION erase_attempts_1();
