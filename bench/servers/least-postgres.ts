import pg from 'pg'
import { serveLeast } from './least-app.ts'

/** The least with PostgreSQL: one statement stores each batch, in two tables with a primary key each. */
const client = new pg.Client({ connectionString: process.argv[2], pipeline: true })
await client.connect()
await client.query(`
  CREATE TABLE least_delivery (
    position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    receipt uuid, order_id text, status smallint, received_at bigint, payload text
  );
  ALTER TABLE least_delivery ALTER COLUMN payload SET STORAGE EXTERNAL;
  CREATE TABLE least_order (order_id text COLLATE "C" PRIMARY KEY, status smallint, received_at bigint) WITH (fillfactor = 80)`)
const STORE = {
  name: 'store',
  text: `
    WITH incoming AS MATERIALIZED (
      SELECT * FROM unnest($1::uuid[], $2::text[], $3::smallint[], $4::bigint[], $5::text[], $6::boolean[])
          AS i (receipt, order_id, status, received_at, payload, is_last)
    ), stored AS (
      INSERT INTO least_delivery (receipt, order_id, status, received_at, payload)
      SELECT receipt, order_id, status, received_at, payload FROM incoming
    )
    INSERT INTO least_order (order_id, status, received_at)
    SELECT order_id, status, received_at FROM incoming WHERE is_last
    ON CONFLICT (order_id) DO UPDATE SET status = excluded.status, received_at = excluded.received_at`,
}

await serveLeast(async (rows) => {
  // One statement may change the state of an order once.
  const last = new Map(rows.map(([, orderId], index) => [orderId, index]))
  const columns = [0, 1, 2, 3, 4].map((column) => rows.map((row) => row[column]))
  await client.query({ ...STORE, values: [...columns, rows.map(([, orderId], index) => last.get(orderId) === index)] })
})
