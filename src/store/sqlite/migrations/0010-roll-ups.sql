-- Runs with programs from 0002 on.

-- Deliveries by customer and hour. Neither a purge nor an erasure reduces these counts.
CREATE TABLE delivery_hour (
  customer  INTEGER NOT NULL, -- 0 for all customers together
  hour      INTEGER NOT NULL, -- hours since 1970
  status    INTEGER NOT NULL,
  duplicate INTEGER NOT NULL CHECK (duplicate IN (0, 1)), -- 1 for echoes
  count     INTEGER NOT NULL,
  PRIMARY KEY (customer, hour, status, duplicate)
) STRICT, WITHOUT ROWID;

-- One row: delivery_hour counts every delivery up to this position, and none after it.
CREATE TABLE roll_up (
  position INTEGER NOT NULL
) STRICT;
INSERT INTO roll_up (position) VALUES (0);

-- Counts deliveries that are not counted yet before they are removed: a program of an earlier version removes them uncounted. A
-- purge of this version counts them first, in small steps, so that nothing is left to count here.
CREATE TRIGGER delivery_counted BEFORE DELETE ON delivery WHEN OLD.position > (SELECT position FROM roll_up)
BEGIN
  INSERT INTO delivery_hour (customer, hour, status, duplicate, count)
  SELECT customer, received_at / 3600000, status, echo_of IS NOT NULL, count(*)
    FROM delivery WHERE position > (SELECT position FROM roll_up) AND position <= OLD.position
   GROUP BY 1, 2, 3, 4
      ON CONFLICT DO UPDATE SET count = count + excluded.count;
  INSERT INTO delivery_hour (customer, hour, status, duplicate, count)
  SELECT 0, received_at / 3600000, status, echo_of IS NOT NULL, count(*)
    FROM delivery WHERE position > (SELECT position FROM roll_up) AND position <= OLD.position
   GROUP BY 1, 2, 3, 4
      ON CONFLICT DO UPDATE SET count = count + excluded.count;
  UPDATE roll_up SET position = OLD.position;
END;

CREATE TABLE refusal_hour (
  customer INTEGER NOT NULL, -- 0 for all refusals, also those of unknown customers
  hour     INTEGER NOT NULL, -- hours since 1970
  action   TEXT    NOT NULL, -- as in audit_event
  code     TEXT    NOT NULL,
  count    INTEGER NOT NULL,
  PRIMARY KEY (customer, hour, action, code)
) STRICT, WITHOUT ROWID;
