import { openDatabase } from '../database.ts'
import { pulseReads } from '../deliveries/pulse.ts'
import { deliveryReads } from '../deliveries/reads.ts'
import { boundNouns } from '../nouns.ts'
import { webhookReads } from '../webhooks/reads.ts'
import { bindOperations, createPerformer, type Performer } from './operations.ts'

export function openReading(path: string): Performer {
  const database = openDatabase(path, { readOnly: true })
  return createPerformer(database, {
    ...boundNouns(database),
    deliveries: bindOperations({ ...deliveryReads, ...pulseReads }, database),
    webhooks: bindOperations(webhookReads, database),
  })
}
