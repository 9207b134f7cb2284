-- Runs with programs from 0002 on.

-- Tells which blocks of delivery_block a customer has rows in (docs/decisions/0028-blocks-of-positions.md). There is a row for each
-- block up to the last one here; later blocks have none yet.
CREATE TABLE block_customers (
  block     INTEGER PRIMARY KEY,
  customers BLOB NOT NULL -- a bit for each customer, number % 8192, the lowest bit of a byte first
) STRICT;
