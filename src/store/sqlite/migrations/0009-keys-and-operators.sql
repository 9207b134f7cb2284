-- Runs with programs from 0002 on.

ALTER TABLE api_key ADD COLUMN networks TEXT; -- where the key may be used from, joined by commas; NULL for anywhere
ALTER TABLE api_key ADD COLUMN rate_limit INTEGER; -- deliveries a minute, 0 for no limit; NULL for that of the server
CREATE INDEX api_key_customer ON api_key (customer, id);

-- Whether an operator only reads. Ignored for other customers.
ALTER TABLE customer ADD COLUMN read_only INTEGER NOT NULL DEFAULT 0 CHECK (read_only IN (0, 1));
