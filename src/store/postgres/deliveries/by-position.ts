/** LATERAL with LIMIT forces a look-up by index for each row, whatever the planner estimates. */
export const BY_POSITION = (position: string): string => `
  LATERAL (
    SELECT position, previous, customer, order_id, receipt, status, received_at, echo_of, octet_length(payload) AS payload_bytes
      FROM delivery WHERE position = ${position} LIMIT 1
  ) d ON true`
