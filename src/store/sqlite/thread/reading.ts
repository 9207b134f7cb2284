import { apiKeyReads } from '../api-keys.ts'
import { auditReads } from '../audit.ts'
import { customerReads } from '../customers.ts'
import { openDatabase } from '../database.ts'
import { pulseReads } from '../deliveries/pulse.ts'
import { deliveryReads } from '../deliveries/reads.ts'
import { purgeReads } from '../purges/reads.ts'
import { refusedReads } from '../refused.ts'
import { rollUpReads } from '../roll-ups.ts'
import { webhookReads } from '../webhooks/reads.ts'
import { bindOperations, createPerformer, type Performer } from './operations.ts'

export function openReading(path: string): Performer {
  const database = openDatabase(path, { readOnly: true })
  return createPerformer(database, {
    customers: bindOperations(customerReads, database),
    apiKeys: bindOperations(apiKeyReads, database),
    audit: bindOperations(auditReads, database),
    deliveries: bindOperations({ ...deliveryReads, ...pulseReads }, database),
    purges: bindOperations(purgeReads, database),
    refused: bindOperations(refusedReads, database),
    rollUps: bindOperations(rollUpReads, database),
    webhooks: bindOperations(webhookReads, database),
  })
}
