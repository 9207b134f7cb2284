-- Deletes up to `most` events older than `before`, and returns their number. It has the rights of its owner, because the role of
-- deploy/postgres/service-role.sql may add events but neither change nor delete them: whoever takes over the service cannot remove the
-- traces of the last day, and TESLIM_AUDIT_DAYS is never less.
--
-- SKIP LOCKED: replicas that delete at the same time delete different rows.
CREATE OR REPLACE FUNCTION delete_audit_1(before bigint, most integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER
AS $$
DECLARE
  younger bigint := (extract(epoch FROM now()) * 1000)::bigint - 86400000;
  deleted integer;
BEGIN
  DELETE FROM audit_event
   WHERE number = ANY (ARRAY(
     SELECT number FROM audit_event WHERE at < least(before, younger) ORDER BY at LIMIT most FOR UPDATE SKIP LOCKED));
  GET DIAGNOSTICS deleted = ROW_COUNT;
  RETURN deleted;
END
$$;
