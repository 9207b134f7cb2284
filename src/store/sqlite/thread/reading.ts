import { openDatabase } from '../database.ts'
import { boundNouns } from '../nouns.ts'
import { webhookReads } from '../webhooks/reads.ts'
import { bindOperations, createPerformer, type Performer } from './operations.ts'

export function openReading(path: string): Performer {
  const database = openDatabase(path, { readOnly: true })
  return createPerformer(database, {
    ...boundNouns(database),
    webhooks: bindOperations(webhookReads, database),
  })
}
