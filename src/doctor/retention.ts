import type { Config } from '#src/config/load-config.ts'
import { few, message } from '#src/lib/messages/message.ts'
import { heldBack } from '#src/purchase/purge/held.ts'
import type { Store } from '#src/store/store.ts'
import { type Check, warning } from './checks.ts'

/** Finds endpoints because of which old deliveries take room. */
export async function checkHeldBack({ purges }: Store, config: Config): Promise<Check[]> {
  const held = await heldBack(purges, config)
  if (held.length === 0) return []
  const endpoints = held.map(({ id, kept }) => message('ENDPOINT_KEEPS', { id, count: kept }))
  return [warning('retention', 'RETENTION_HELD', { days: config.retentionDays, endpoints: few(endpoints) })]
}
