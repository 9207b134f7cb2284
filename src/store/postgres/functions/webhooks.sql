-- Removes all but the newest 500 attempts of an endpoint, except those that an erasure is removing.
CREATE FUNCTION trim_attempts_1(of_webhook text) RETURNS void
LANGUAGE sql
SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
  DELETE FROM webhook_attempt WHERE number = ANY (ARRAY(
    SELECT number FROM webhook_attempt
     WHERE webhook = of_webhook
       AND number <= (SELECT number FROM webhook_attempt WHERE webhook = of_webhook ORDER BY number DESC LIMIT 1 OFFSET 500)
       FOR UPDATE SKIP LOCKED))
$$;

-- Stores the progress of many endpoints, those that `by_holder` holds with the epoch it works with, and returns their ids. The caller,
-- src/store/shared/webhook-saves.ts, gives the columns of each as JSON. Also removes what is older than a day before `at_time`.
CREATE FUNCTION save_webhooks_1(by_holder text, saves jsonb, at_time bigint) RETURNS SETOF text
LANGUAGE plpgsql
SET lock_timeout = '3s'
-- Every query reads rows by an index, so the plan is fixed and needs no statistics.
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
#variable_conflict use_column
DECLARE
  s record;
  held text[] := '{}';
  gone text[] := '{}';
  numbers bigint[];
  current_timeline bigint := timeline_1();
BEGIN
  FOR s IN
    SELECT * FROM jsonb_to_recordset(saves) AS s (
             id text, epoch bigint, position bigint, generation bigint, confirmed text, last_success_at bigint,
             failing_since bigint, next_try_at bigint, gone boolean, waiting jsonb, settled bigint[], attempts jsonb, minutes jsonb)
     ORDER BY id
  LOOP
    -- A separate statement, so that the next ones see what was committed while this one waited.
    UPDATE webhook_progress
       SET position = s.position, generation = s.generation, confirmed = s.confirmed, last_success_at = s.last_success_at,
           failing_since = s.failing_since, next_try_at = s.next_try_at
     WHERE webhook = s.id AND epoch = s.epoch AND holder = by_holder
       AND leased_until > (extract(epoch FROM clock_timestamp()) * 1000)::bigint
       AND timeline IS NOT DISTINCT FROM current_timeline;
    CONTINUE WHEN NOT FOUND;
    held := held || s.id;
    IF s.gone THEN
      gone := gone || s.id;
    END IF;

    IF s.waiting <> '[]' THEN
      INSERT INTO webhook_waiting (webhook, position, failures, first_failed_at, next_at, set_aside_at, last_error)
      SELECT s.id, w.position, w.failures, w.first_failed_at, w.next_at, w.set_aside_at, w.last_error
        FROM jsonb_to_recordset(s.waiting) AS w (
               position bigint, failures bigint, first_failed_at bigint, next_at bigint, set_aside_at bigint, last_error text)
          ON CONFLICT (webhook, position) DO UPDATE
         SET failures = excluded.failures, first_failed_at = excluded.first_failed_at, next_at = excluded.next_at,
             set_aside_at = excluded.set_aside_at, last_error = excluded.last_error;
    END IF;
    IF s.settled <> '{}' THEN
      DELETE FROM webhook_waiting WHERE webhook = s.id AND position = ANY (s.settled);
    END IF;

    IF s.attempts <> '[]' THEN
      -- An answer may hold what was sent, so it is not kept if nobody can tell whose delivery that was, nor for an erased customer.
      WITH added AS (
        INSERT INTO webhook_attempt (webhook, at, position, receipt, customer, status, error, milliseconds, response, next_at)
        SELECT s.id, a.at, a.position, a.receipt, c.number, a.status, a.error, a.milliseconds,
               CASE WHEN a.position IS NULL OR (c.number IS NOT NULL AND c.erased_at IS NULL) THEN a.response END, a.next_at
          FROM ROWS FROM (jsonb_to_recordset(s.attempts) AS (
                 at bigint, position bigint, receipt text, status bigint, error text, milliseconds bigint, response text,
                 next_at bigint)) WITH ORDINALITY
            AS a (at, position, receipt, status, error, milliseconds, response, next_at, place)
          LEFT JOIN LATERAL (SELECT customer FROM delivery WHERE position = a.position LIMIT 1) d ON true
          LEFT JOIN customer c ON c.number = d.customer
         ORDER BY a.place
        RETURNING number
      )
      SELECT array_agg(number) INTO numbers FROM added;
      -- Not each time, because it counts through those that stay: one in sixteen attempts causes it.
      IF EXISTS (SELECT FROM unnest(numbers) n WHERE n % 16 = 0) THEN
        PERFORM trim_attempts_1(s.id);
      END IF;
    END IF;

    IF s.minutes <> '[]' THEN
      INSERT INTO webhook_minute AS kept (webhook, minute, succeeded, failed, longest)
      SELECT s.id, m.minute, sum(m.succeeded), sum(m.failed), max(m.longest)
        FROM jsonb_to_recordset(s.minutes) AS m (minute bigint, succeeded bigint, failed bigint, longest bigint)
       GROUP BY m.minute
          ON CONFLICT (webhook, minute) DO UPDATE
         SET succeeded = kept.succeeded + excluded.succeeded, failed = kept.failed + excluded.failed,
             longest = greatest(kept.longest, excluded.longest);
    END IF;
  END LOOP;

  IF gone <> '{}' THEN
    UPDATE webhook SET paused_reason = 'gone', paused_at = at_time WHERE id = ANY (ARRAY(
      SELECT id FROM webhook WHERE id = ANY (gone) AND paused_at IS NULL ORDER BY id FOR UPDATE));
  END IF;

  -- SKIP LOCKED: an erasure or another replica is deleting them.
  DELETE FROM webhook_attempt WHERE number = ANY (ARRAY(
    SELECT number FROM webhook_attempt WHERE at < at_time - 86400000 ORDER BY at LIMIT 1000 FOR UPDATE SKIP LOCKED));
  DELETE FROM webhook_minute WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM webhook_minute WHERE minute < at_time - 86400000 ORDER BY minute LIMIT 1000 FOR UPDATE SKIP LOCKED));
  RETURN QUERY SELECT unnest(held);
END
$$;
