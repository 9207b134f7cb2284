import { auditReads } from '../audit.ts'
import { openDatabase } from '../database.ts'
import { boundNouns } from '../nouns.ts'
import { purgeReads } from '../purges/reads.ts'
import { refusedReads } from '../refused.ts'
import { rollUpReads } from '../roll-ups.ts'
import { webhookReads } from '../webhooks/reads.ts'
import { bindOperations, createPerformer, type Performer } from './operations.ts'

export function openReading(path: string): Performer {
  const database = openDatabase(path, { readOnly: true })
  return createPerformer(database, {
    ...boundNouns(database),
    audit: bindOperations(auditReads, database),
    purges: bindOperations(purgeReads, database),
    refused: bindOperations(refusedReads, database),
    rollUps: bindOperations(rollUpReads, database),
    webhooks: bindOperations(webhookReads, database),
  })
}
