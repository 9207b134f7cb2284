-- Walks back through the deliveries of a customer, from the position before `start` on, until it has found `look` of them
-- (docs/decisions/0028-blocks-of-positions.md). Returns the first `most` that fit the filters, then a row that has only a position:
-- all positions from that one on were looked at. One call, because each round trip of teslim costs as much as reading a page.
-- Nested loops keep the order of the blocks, so that no more of them are read than needed.
CREATE OR REPLACE FUNCTION deliveries_before_1(
  of_customer text, start bigint, look bigint, most bigint,
  of_order text, of_status smallint, since bigint, until bigint, echoes integer, of_key bytea, address_part bytea,
  OUT "position" bigint, OUT receipt uuid, OUT order_id text, OUT status smallint, OUT received_at bigint, OUT echo_of bigint,
  OUT erased boolean, OUT payload_bytes integer
) RETURNS SETOF record
LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET max_parallel_workers_per_gather = 0
SET jit = off
AS $$
#variable_conflict use_column
DECLARE
  whose bigint;
  is_erased boolean;
  bit integer;
  lowest bigint;
  highest bigint;
  top bigint;
  near bigint;
  first_block bigint;
  last_block bigint;
  spans_end bigint; -- the first block after all spans
  found_positions bigint[];
  walk_end bigint;
BEGIN
  SELECT c.number, c.erased_at IS NOT NULL, c.number % 8192, (SELECT min(block) FROM delivery_block),
         coalesce((SELECT max(block) FROM delivery_block), -1),
         -- Not `start`: positions have gaps.
         coalesce((SELECT max(d.position) FROM delivery d WHERE d.position < start), 0) + 1
    INTO whose, is_erased, bit, lowest, highest, top
    FROM customer c WHERE c.id = of_customer;

  -- The nearest deliveries are looked at one by one, also those of others: the latest have no block yet, and to read the whole
  -- block of a customer who has many takes longer than this.
  near := greatest(least((highest + 1) * 4096, top - 1024), top - 8192, 0);
  found_positions := ARRAY(
    SELECT d.position FROM delivery d
     WHERE d.position < top AND d.position >= near AND d.customer = whose
     ORDER BY d.position DESC
     LIMIT look);
  walk_end := near;

  IF cardinality(found_positions) < look AND near > 0 AND near <= (highest + 1) * 4096 THEN
    first_block := (SELECT max(l.block) FROM block_customers l WHERE l.block <= (near - 1) / 4096);
    last_block := greatest(lowest, first_block - 4096);
    spans_end := coalesce((SELECT max(span) + 1 FROM span_customers), 0) * 64;
    found_positions := found_positions || ARRAY(
      SELECT n.block * 4096 + o.value
        FROM (SELECT * FROM (
                SELECT l.block FROM block_customers l
                 WHERE l.block <= first_block AND l.block >= greatest(last_block, spans_end)
                   AND CASE WHEN octet_length(l.customers) > bit / 8 THEN get_bit(l.customers, bit) = 1 END
                 ORDER BY l.block DESC) late
              UNION ALL
              SELECT l.block
                FROM (SELECT s.span FROM span_customers s
                       WHERE s.span <= first_block / 64 AND s.span >= last_block / 64
                         AND CASE WHEN octet_length(s.customers) > bit / 8 THEN get_bit(s.customers, bit) = 1 END
                       ORDER BY s.span DESC) s
               CROSS JOIN LATERAL (
                 SELECT l.block FROM block_customers l
                  WHERE l.block >= s.span * 64 AND l.block < (s.span + 1) * 64 AND l.block <= first_block AND l.block >= last_block
                    AND CASE WHEN octet_length(l.customers) > bit / 8 THEN get_bit(l.customers, bit) = 1 END
                  ORDER BY l.block DESC) l) n
       CROSS JOIN LATERAL (
         SELECT offsets FROM delivery_block WHERE block = n.block AND customer = whose LIMIT 1
       ) k
       CROSS JOIN LATERAL (
         SELECT v::integer AS value FROM unnest(string_to_array(k.offsets, ',')) v ORDER BY v::integer DESC
       ) o
       WHERE n.block * 4096 + o.value < near
       LIMIT look - cardinality(found_positions));
    walk_end := CASE WHEN last_block > lowest THEN last_block * 4096 ELSE 0 END;
  END IF;

  IF cardinality(found_positions) = look THEN
    walk_end := found_positions[look::integer];
  END IF;
  RETURN QUERY
  SELECT d.position, d.receipt, CASE WHEN NOT is_erased THEN d.order_id END, d.status, d.received_at, d.echo_of,
         is_erased OR d.erased IS NOT NULL, octet_length(d.payload)
    FROM delivery d
   WHERE d.position = ANY (found_positions) AND d.customer = whose
     AND (of_order IS NULL OR d.order_id = of_order) AND (of_status IS NULL OR d.status = of_status)
     AND (since IS NULL OR d.received_at >= since) AND (until IS NULL OR d.received_at < until)
     AND (echoes IS NULL OR (d.echo_of IS NOT NULL)::integer = echoes)
     AND (of_key IS NULL OR substr(d.origin, 1, 16) = of_key)
     AND (address_part IS NULL OR position(address_part IN d.origin) > 0)
   ORDER BY d.position DESC
   LIMIT most;

  "position" := coalesce(walk_end, 0);
  receipt := NULL;
  RETURN NEXT;
END
$$;
