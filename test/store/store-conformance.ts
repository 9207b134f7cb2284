import { afterAll } from 'vitest'
import { describeAccountLists } from './conformance/account-lists.ts'
import { describeApiKeys } from './conformance/api-keys.ts'
import { describeArrivals } from './conformance/arrivals.ts'
import { describeAudit } from './conformance/audit.ts'
import { describeBackwards } from './conformance/backwards.ts'
import { describeConsoleSessions } from './conformance/console-sessions.ts'
import { describeCustomers } from './conformance/customers.ts'
import { describeDeliveries } from './conformance/deliveries.ts'
import { describeErasures } from './conformance/erasures.ts'
import { describeFeed } from './conformance/feed.ts'
import { describeFindDuplicate } from './conformance/find-duplicate.ts'
import { describeHealth } from './conformance/health.ts'
import { describeHistories } from './conformance/histories.ts'
import { describeIdempotency } from './conformance/idempotency.ts'
import { describeLoginFailures } from './conformance/login-failures.ts'
import { describeOrders } from './conformance/orders.ts'
import { describeOrigins } from './conformance/origins.ts'
import { describePayloads } from './conformance/payloads.ts'
import { closeStores, type Open } from './conformance/promises.ts'
import { describePulses } from './conformance/pulses.ts'
import { describePurgeCuts } from './conformance/purge-cuts.ts'
import { describePurgeFollowers } from './conformance/purge-followers.ts'
import { describePurgeModel } from './conformance/purge-model.ts'
import { describePurgesOfUnsent } from './conformance/purge-unsent.ts'
import { describePurges } from './conformance/purges.ts'
import { describeRefused } from './conformance/refused.ts'
import { describeRollUps } from './conformance/roll-ups.ts'
import { describeSecrets } from './conformance/secrets.ts'
import { describeSigningKeys } from './conformance/signing-keys.ts'
import { describeTimes } from './conformance/times.ts'
import { describeWebhookAttempts } from './conformance/webhook-attempts.ts'
import { describeWebhookJournal } from './conformance/webhook-journal.ts'
import { describeWebhookModel } from './conformance/webhook-model.ts'
import { describeWebhookProgress } from './conformance/webhook-progress.ts'
import { describeWebhookReplays } from './conformance/webhook-replays.ts'
import { describeWebhookWaiting } from './conformance/webhook-waiting.ts'
import { describeWebhooks } from './conformance/webhooks.ts'

type Capability = (name: string, open: Open) => void

/** Those of the table of deliveries and what is counted from it. */
export const OF_DELIVERIES: readonly Capability[] = [
  describeDeliveries,
  describeIdempotency,
  describeFindDuplicate,
  describeArrivals,
  describeOrders,
  describeHistories,
  describeFeed,
  describeBackwards,
  describePayloads,
  describeOrigins,
  describeErasures,
  describeRollUps,
]

const EVERYTHING: readonly Capability[] = [
  ...OF_DELIVERIES,
  describePulses,
  describeCustomers,
  describeApiKeys,
  describeAccountLists,
  describeSecrets,
  describeSigningKeys,
  describeAudit,
  describeRefused,
  describeLoginFailures,
  describeConsoleSessions,
  describeWebhooks,
  describeWebhookProgress,
  describeWebhookAttempts,
  describeWebhookJournal,
  describeWebhookWaiting,
  describeWebhookReplays,
  describeWebhookModel,
  describeHealth,
]

const purging = [
  describePurges,
  describePurgeCuts,
  describePurgeModel,
  describePurgeFollowers,
  describePurgesOfUnsent,
  describeTimes,
]

/** Everything that an adapter must do, or some of it. What a purge removes depends on all that is stored, so each of its parts has a store of its own. */
export function describeStore(name: string, open: Open, openEmpty: () => Open, capabilities = EVERYTHING): void {
  afterAll(closeStores)
  for (const describeCapability of capabilities) describeCapability(name, open)
  for (const describeCapability of purging) describeCapability(name, openEmpty())
}
