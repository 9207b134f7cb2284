-- Runs with programs from 0002 on.

-- Find what operators look for in the audit log: all events by their order, a refused delivery of any customer, the events of a
-- customer, those of a request. The migration fails if somebody reads the table for longer, as pg_dump does.
SET LOCAL lock_timeout = '2s';
DROP INDEX audit_event_at;
SET LOCAL lock_timeout TO DEFAULT;
CREATE INDEX audit_event_at ON audit_event (at, number);
CREATE INDEX audit_event_refused ON audit_event (refusal) WHERE refusal IS NOT NULL;
CREATE INDEX audit_event_customer ON audit_event (customer_id, at, number) WHERE customer_id IS NOT NULL;
CREATE INDEX audit_event_request ON audit_event (request_id, at, number) WHERE request_id IS NOT NULL;
