import { type RefusedOperations, refused } from '../sql/refused.ts'
import { type Noun, wipe } from '../sql/work.ts'
import { sqlite } from './dialect.ts'
import { wipePages } from './wipe-pages.ts'

const AT_ONCE = 500
/** Old events are only removed at the beginning of the table, so only the first pages can hold copies. */
const FIRST_EVENTS = 500

/** Only a file has pages that this process must look after. */
export const refusedWithPages: Noun<RefusedOperations> = {
  ...refused(sqlite),
  wipePages: wipe(function* (after) {
    if (after === 0) yield* wipePages('audit_event', 0, FIRST_EVENTS)
    return yield* wipePages('refused_delivery', after, AT_ONCE)
  }),
}
