import type { Server } from 'node:http'
import type { Config } from '#src/config/load-config.ts'
import type { Clock } from '#src/lib/clock.ts'
import { DAY_MILLISECONDS } from '#src/lib/duration.ts'
import { type Metrics, within } from '#src/lib/metrics.ts'
import { sharedByTurn } from '#src/lib/shared-work.ts'
import { VERSION } from '#src/lib/version.ts'
import type { Store } from '#src/store/store.ts'

export interface ServiceMetricsDependencies {
  readonly config: Config
  readonly store: Store
  readonly clock: Clock
  /** The server of the API. */
  readonly server: Server
  /** Rejects while no delivery could be stored. */
  readonly checkReady: () => Promise<void>
}

const EXPIRING_DAYS = 14

/** Describes what is read from the store and the server at each scrape. Modules describe what they count themselves. */
export function describeService(metrics: Metrics, dependencies: ServiceMetricsDependencies): void {
  const { config, store, clock, server, checkReady } = dependencies
  const { deliveries, apiKeys } = store
  const build = {
    version: VERSION,
    node: process.version,
    store: config.databaseUrl.startsWith('sqlite:') ? 'sqlite' : 'postgres',
  }
  metrics.gauge('teslim_build_info', 'Version of teslim and of Node, and the kind of store.', () => [[build, 1]])
  metrics.gauge('teslim_store_up', 'Whether the store answers.', () => isTrue(store.accountVersion()))
  metrics.gauge('teslim_ready', 'Whether a delivery could be stored now, as /readyz says.', () => isTrue(checkReady()))
  metrics.gauge('teslim_http_connections', 'Open connections to the API.', () => connectionsOf(server))
  metrics.showHistogram('teslim_delivery_batch_size', 'Deliveries in each commit.', () => deliveries.load.batchSizes)
  metrics.showHistogram(
    'teslim_commit_duration_seconds',
    'Time from handing a batch of deliveries to the store until it is durable.',
    () => deliveries.load.commitSeconds,
  )
  metrics.gauge('teslim_queue_deliveries', 'Deliveries that wait to be stored.', () => deliveries.load.items())
  metrics.gauge('teslim_queue_bytes', 'Bytes of deliveries that are not yet durable.', () => deliveries.load.bytes())
  metrics.gauge('teslim_queue_deliveries_limit', 'Deliveries that may wait.', () => deliveries.load.maxItems)
  metrics.gauge('teslim_queue_bytes_limit', 'Bytes that may wait.', () => deliveries.load.maxBytes)

  metrics.gauge(
    'teslim_api_keys_expiring',
    'Live API keys of enabled customers that expire soon and were not replaced.',
    async () => {
      const now = clock.now()
      const count = await apiKeys.countExpiring(now, now + EXPIRING_DAYS * DAY_MILLISECONDS)
      return [[{ within: `${EXPIRING_DAYS}d` }, count]]
    },
  )

  const diskUse = sharedByTurn(() => store.diskUse())
  metrics.gauge('teslim_store_bytes', 'Size of the file or database, and of the write-ahead log.', async () => {
    const { file, wal } = await diskUse()
    return [
      [{ part: 'file' }, file],
      [{ part: 'wal' }, wal],
    ]
  })
  metrics.gauge('teslim_disk_free_bytes', 'Room on the disk of the file.', async () => (await diskUse()).free)
  // PostgreSQL has its own tools.
  if (build.store === 'sqlite') describeBackups(metrics, dependencies)
  else {
    metrics.gauge(
      'teslim_database_timeline',
      'Timeline of the PostgreSQL server: it rises when a standby is promoted.',
      async () => (await store.history()).timeline ?? undefined,
    )
  }
}

function describeBackups(metrics: Metrics, { store, clock }: ServiceMetricsDependencies): void {
  let backupAt: number | undefined
  metrics.gauge('teslim_backup_age_seconds', 'Time since the last successful backup began.', async () => {
    // While the record cannot be read, the age of the last known backup rises, as it does without backups.
    backupAt = await store.lastBackupAt().catch(() => backupAt)
    return backupAt && (clock.now() - backupAt) / 1000
  })
}

/** Shorter than a scrape waits, so that a store that hangs is not left out, and longer than `checkReady` takes. */
const PROOF_MILLISECONDS = 1950

/** 1 if it resolves in time, 0 if not. */
const isTrue = (proof: Promise<unknown>): Promise<number> =>
  within(PROOF_MILLISECONDS, proof).then(
    () => 1,
    () => 0,
  )

const connectionsOf = (server: Server): Promise<number> =>
  new Promise((resolve, reject) => server.getConnections((error, count) => (error ? reject(error) : resolve(count))))
