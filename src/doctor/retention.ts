import type { Config } from '#src/config/load-config.ts'
import { counted, listed } from '#src/lib/printable.ts'
import { heldBack } from '#src/purchase/purge/held.ts'
import type { Store } from '#src/store/store.ts'
import { type Check, warning } from './checks.ts'

/** Finds endpoints because of which old deliveries take room. */
export async function checkHeldBack({ purges }: Store, config: Config): Promise<Check[]> {
  const held = await heldBack(purges, config)
  if (held.length === 0) return []
  const named = listed(held.map(({ id, kept }) => `${id} (${counted(kept, 'delivery', 'deliveries')})`))
  const message = `deliveries older than TESLIM_RETENTION_DAYS (${config.retentionDays}) stay, because webhook endpoints have not taken them: ${named}: see teslim webhook show ID; teslim purge --older ${config.retentionDays}d --unsent removes them`
  return [warning('retention', message)]
}
