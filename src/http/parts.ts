import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Config } from '#src/config/load-config.ts'
import type { Clock } from '#src/lib/clock.ts'
import type { Metrics } from '#src/lib/metrics.ts'
import type { Random } from '#src/lib/random.ts'
import type { VersionWatch } from '#src/lib/version-watch.ts'
import type { Store } from '#src/store/store.ts'

/** What `buildApp` makes plugins of. */
export interface Parts {
  readonly config: Config
  readonly store: Store
  readonly versions: VersionWatch
  readonly clock: Clock
  readonly random: Random
  readonly metrics: Metrics
}

/** A plugin that gets these parts. */
export type PluginWith<Names extends keyof Parts> = FastifyPluginAsyncTypebox<Pick<Parts, Names>>
