import type { Config } from '#src/config/load-config.ts'
import { counted } from '#src/lib/printable.ts'
import { heldBack } from '#src/purchase/purge/held.ts'
import type { Store } from '#src/store/store.ts'
import type { Check } from './checks.ts'

const MAX_NAMED = 5

/** Finds endpoints because of which old deliveries take room. */
export async function checkHeldBack({ purges }: Store, config: Config): Promise<Check[]> {
  const held = await heldBack(purges, config)
  if (held.length === 0) return []
  const named = held.slice(0, MAX_NAMED).map(({ id, kept }) => `${id} (${counted(kept, 'delivery', 'deliveries')})`)
  const more = held.length > MAX_NAMED ? `, and ${held.length - MAX_NAMED} more` : ''
  const message = `deliveries older than TESLIM_RETENTION_DAYS (${config.retentionDays}) stay, because webhook endpoints have not taken them: ${named.join(', ')}${more}: see teslim webhook show ID; teslim purge --older ${config.retentionDays}d --unsent removes them`
  return [{ name: 'retention', status: 'warning', message }]
}
