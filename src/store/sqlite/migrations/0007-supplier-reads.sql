-- Runs with programs from 0002 on.

-- Finds the deliveries of a customer (docs/decisions/0028-blocks-of-positions.md). A block is 4,096 positions, and is added when
-- all of them are in use.
CREATE TABLE delivery_block (
  block    INTEGER NOT NULL, -- position / 4096
  customer INTEGER NOT NULL, -- 0 for a block that has no deliveries
  offsets  TEXT    NOT NULL, -- position % 4096 of each delivery, in ascending order, separated by commas
  PRIMARY KEY (block, customer)
) STRICT, WITHOUT ROWID;
