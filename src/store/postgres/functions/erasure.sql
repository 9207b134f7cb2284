-- Returns what stands in place of an erased payload: its digest, as valid JSON, unless that would be longer. As a function of SQL it would
-- become a part of deliver_1, which would prepare it for each batch.
CREATE OR REPLACE FUNCTION erased_payload_1(payload bytea) RETURNS bytea
LANGUAGE plpgsql STABLE
AS $$
BEGIN
  RETURN CASE WHEN octet_length(payload) < 77 THEN '{}'::bytea
              ELSE convert_to('{"SHA256":"' || encode(sha256(payload), 'hex') || '"}', 'UTF8') END;
END
$$;

-- Overwrites payloads, and leaves of their origins the API key; with `order_ids` also those. Returns how many deliveries it has erased: not
-- those that were before. It has the rights of its owner, because the role of deploy/postgres/service-role.sql may not change deliveries. That
-- role may run it only if the operator grants it.
CREATE OR REPLACE FUNCTION erase_1(receipts uuid[], order_ids boolean) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET lock_timeout = '3s'
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
AS $$
DECLARE
  erased_now bigint;
BEGIN
  -- The lock of deliver_1: echoes of a payload that a batch has read before are committed and can be found, and later ones are stored
  -- erased. Where order ids go, the customer is erased, and all its deliveries are refused.
  IF NOT order_ids THEN
    PERFORM pg_advisory_xact_lock(7425, 'last_position'::regclass::oid::integer);
  END IF;
  -- In one order, so that two erasures at once wait for each other.
  PERFORM FROM delivery d WHERE d.receipt = ANY (receipts) ORDER BY d.receipt FOR UPDATE;
  UPDATE delivery d
     SET erased = true, origin = substr(d.origin, 1, 16),
         payload = CASE WHEN d.erased THEN d.payload ELSE erased_payload_1(d.payload) END,
         order_id = CASE WHEN NOT order_ids THEN d.order_id END
   WHERE d.receipt = ANY (receipts) AND (d.erased IS NULL OR order_ids AND d.order_id IS NOT NULL);
  GET DIAGNOSTICS erased_now = ROW_COUNT;
  RETURN erased_now;
END
$$;

-- Runs at the end of the statement that erases a customer, so that it holds the lock of deliver_1 for the commit only. The
-- deliveries of a batch that got the lock before are committed, and will be erased. A later batch sees the row.
CREATE OR REPLACE FUNCTION refuse_deliveries_1() RETURNS trigger
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

-- The answer to an attempt may hold what was sent to the endpoint.
CREATE OR REPLACE FUNCTION erase_attempts_1() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
  DELETE FROM webhook_attempt WHERE customer = NEW.number;
  RETURN NULL;
END
$$;
