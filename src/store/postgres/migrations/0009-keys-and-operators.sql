-- Runs with programs from 0002 on.

ALTER TABLE api_key ADD COLUMN networks text; -- where the key may be used from, joined by commas; NULL for anywhere
ALTER TABLE api_key ADD COLUMN rate_limit integer; -- deliveries a minute, 0 for no limit; NULL for that of the server
CREATE INDEX api_key_customer ON api_key (customer, id);

-- Whether an operator only reads. Ignored for other customers.
ALTER TABLE customer ADD COLUMN read_only boolean NOT NULL DEFAULT false;
