export const CUSTOMERS = 1000
export const MANY_CUSTOMERS = 20_000
export const DELIVERIES = 300_000
export const REFUSALS = 100_000

/** The id of what came at second `n`: a version 7 UUID, which begins with its milliseconds. */
export const idOf = (n: number): string => {
  const digits = (n * 1000).toString(16).padStart(12, '0')
  return `${digits.slice(0, 8)}-${digits.slice(8)}-7000-8000-${n.toString(16).padStart(12, '0')}`
}

export const ONE = 'c-7'

/** What the two databases spell differently. */
interface Spelling {
  readonly begin: string
  /** A table of the numbers from 1 to `count`, in a column of this name. */
  numbers(count: number, name?: string): string
  hex(number: string, digits: number): string
  /** The bytes of a receipt from its text. */
  receipt(text: string): string
  /** 32 bytes that differ from row to row. */
  hash(text: string): string
  blob(hex: string): string
  offsets(number: string): string
  readonly end: string
}

export const POSTGRES: Spelling = {
  begin: 'SET synchronous_commit = off; SET session_replication_role = replica; SET auto_explain.log_min_duration = -1',
  numbers: (count, name = 'n') => `generate_series(1::bigint, ${count}) ${name}`,
  hex: (number, digits) => `lpad(to_hex(${number}), ${digits}, '0')`,
  receipt: (text) => `(${text})::uuid`,
  hash: (text) => `sha256((${text})::text::bytea)`,
  blob: (hex) => `'\\x${hex}'::bytea`,
  offsets: (number) => `string_agg((${number})::text, ',' ORDER BY position)`,
  end: `SELECT setval('last_position', ${DELIVERIES})`,
}

export const SQLITE: Spelling = {
  begin: `CREATE TEMP TABLE numbers AS
    WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < ${DELIVERIES}) SELECT n FROM r`,
  numbers: (count, name = 'n') => `(SELECT n AS ${name} FROM numbers WHERE n <= ${count})`,
  hex: (number, digits) => `printf('%0${digits}x', ${number})`,
  receipt: (text) => `unhex(${text}, '-')`,
  hash: () => 'randomblob(32)',
  blob: (hex) => `x'${hex}'`,
  offsets: (number) => `group_concat(${number})`,
  end: 'SELECT 1',
}

export const fillAccounts = ({ begin, numbers, hash }: Spelling, count: number): string => `
  ${begin};
  INSERT INTO customer (id, email, password_hash, is_api, scope, enabled, token_generation, created_at)
  SELECT 'c-' || n, 'c-' || n || '@example.com', 'h', true, 'customer', true, '', n FROM ${numbers(count)};
  INSERT INTO customer_region (customer, region) SELECT number, 'TR' FROM customer;
  INSERT INTO authority_rule (customer, rule) SELECT number, 'SKU-*' FROM customer;
  INSERT INTO api_key (id, customer, hash, label, created_at, expires_at)
  SELECT k || '-' || id, number, ${hash('k || id')}, 'erp', 1, nullif(k, 1) * 100 FROM customer, ${numbers(2, 'k')};
  INSERT INTO api_key_use (key_id, used_at, address) SELECT id, 7, '::1' FROM api_key`

/** A delivery a second, two for each order, and much more than any statement may look at of all else. */
export function fillAll(spelling: Spelling): string {
  const { numbers, hex, receipt, hash, blob, offsets, end } = spelling
  const id = `${hex('n * 1000 / 65536', 8)} || '-' || ${hex('n * 1000 % 65536', 4)} || '-7000-8000-' || ${hex('n', 12)}`
  return `${fillAccounts(spelling, CUSTOMERS)};
  INSERT INTO delivery (position, receipt, customer, order_id, status, received_at, previous, payload, origin)
  SELECT n, ${receipt(id)}, 1 + (n / 2) % ${CUSTOMERS}, 'order-' || (n / 2), n % 4, n * 1000, CASE WHEN n % 2 = 1 THEN n - 1 END,
         ${blob('00'.repeat(100))}, ${blob('00'.repeat(40))}
    FROM ${numbers(DELIVERIES)};
  INSERT INTO order_state (customer, order_id, status, state_position, latest_position, digest)
  SELECT customer, order_id, status, position, position, ${blob('00')} FROM delivery WHERE position % 2 = 1;
  INSERT INTO idempotency (customer, key, position, kept_at) SELECT customer, 'key-' || position, position, received_at FROM delivery WHERE position % 3 = 0;
  INSERT INTO delivery_block (block, customer, offsets)
  SELECT position / 4096, customer, ${offsets('position % 4096')}
    FROM delivery WHERE position / 4096 < ${DELIVERIES} / 4096 - 1 GROUP BY position / 4096, customer;
  INSERT INTO block_customers (block, customers)
  SELECT block, ${blob('ff'.repeat(1024))} FROM delivery_block GROUP BY block UNION ALL SELECT -n, ${blob('ff')} FROM ${numbers(5000)};
  INSERT INTO span_customers (span, customers)
  SELECT block / 64, ${blob('ff'.repeat(1024))} FROM block_customers WHERE block % 64 = 0 AND block <> 64;
  INSERT INTO delivery_hour (customer, hour, status, duplicate, count) SELECT n % 1000, n / 1000, 1, false, 1 FROM ${numbers(100_000)};
  INSERT INTO refusal_hour (customer, hour, action, code, count) SELECT n % 1000, n / 1000, 'a', 'X', 1 FROM ${numbers(100_000)};
  UPDATE roll_up SET position = ${DELIVERIES} - 700;
  INSERT INTO audit_event (at, actor, action, customer_id, refusal, key_id, order_id, order_key, request_id, details)
  SELECT n * 1000, 'api', 'delivery.refused', 'c-' || (n % 50), ${id}, 'k', 'PO-' || n, 256 + n % 32512, 'r-' || n % 50, '{"errorCode":"X","message":"No."}'
    FROM ${numbers(REFUSALS)};
  INSERT INTO refused_delivery (refusal, at, customer_id, key_id, order_id, order_key, error_code, message, request_id, address, payload)
  SELECT ${id}, n * 1000, 'c-' || (n % 50), 'k', 'PO-' || n, 256 + n % 32512, 'X', '"No."', 'r', '::1', ${blob('0000')} FROM ${numbers(REFUSALS)} WHERE n % 4 = 3;
  UPDATE refused_tally SET bytes = 30000000;
  INSERT INTO login_failure (name, count, last_at, expires_at) SELECT ${hash('n')}, 1, n, n FROM ${numbers(50_000)};
  INSERT INTO unordered_time (high, low) SELECT n * 1000000, n * 1000000 - 400000 FROM ${numbers(100)};
  INSERT INTO webhook (id, url, duplicates, created_at, secret, version) SELECT 'w-' || n, 'u', true, n, 's', 1 FROM ${numbers(100)};
  INSERT INTO webhook_progress (webhook, position, waiting, failing, set_aside, removed, journal_bytes)
  SELECT id, ${DELIVERIES}, 450, 200, 50, 0, 65000 FROM webhook;
  INSERT INTO webhook_waiting (webhook, position, lane, failures, first_failed_at, next_at, set_aside_at, answered, replayed)
  SELECT 'w-' || (n % 100 + 1), n, n / 300, n / 100 % 2, CASE WHEN n / 100 % 2 = 1 THEN n END,
         CASE WHEN n / 100 % 3 = 0 AND n / 100 % 10 <> 0 THEN n END, CASE WHEN n / 100 % 10 = 0 THEN n END, n % 3 = 0, n % 7 = 0
    FROM ${numbers(50_000)};
  INSERT INTO webhook_confirmed (webhook, block, at, entries) SELECT 'w-' || (n % 100 + 1), n / 4096, n, ${blob('000000c80005')} FROM ${numbers(50_000)};
  INSERT INTO webhook_attempt (webhook, at, position, customer, milliseconds)
  SELECT 'w-' || (n % 100 + 1), n, n, n % ${CUSTOMERS} + 1, 1 FROM ${numbers(50_000)};
  INSERT INTO webhook_minute (webhook, minute, succeeded, failed, longest) SELECT 'w-' || (n % 100 + 1), n / 100, 1, 1, 1 FROM ${numbers(50_000)};
  ${end}`
}
