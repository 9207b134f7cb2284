import { ifDurable, type Standby } from '../connection/safety.ts'

export const deliverStatement = (standby: Standby) => ({
  name: 'teslim_deliver_1',
  text: `SELECT * FROM deliver_1(${ifDurable('$1', 'bigint[]', standby)}, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
})

/** The arguments for an empty batch: arrays, and no bytes in `payloads`. */
export const NO_DELIVERIES: readonly string[] = Array.from({ length: 14 }, (_, index) => (index === 12 ? '' : '{}'))
