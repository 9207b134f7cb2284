-- Runs with programs from 0002 on.

-- Find what operators look for in the audit log: a refused delivery of any customer, the events of a customer, those of a request.
CREATE INDEX audit_event_refused ON audit_event (refusal) WHERE refusal IS NOT NULL;
CREATE INDEX audit_event_customer ON audit_event (customer_id, at) WHERE customer_id IS NOT NULL;
CREATE INDEX audit_event_request ON audit_event (request_id, at) WHERE request_id IS NOT NULL;
