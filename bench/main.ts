import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { benchBacklog } from './backlog.ts'
import { benchBackup } from './backup.ts'
import { benchBulk } from './bulk.ts'
import { benchBusyReads } from './busy-reads.ts'
import { benchConsoles, benchExports } from './consoles.ts'
import { benchDeliveries } from './deliveries.ts'
import { benchFeed } from './feed.ts'
import { benchForms } from './forms.ts'
import { benchGrowth } from './growth.ts'
import { findLoad } from './load.ts'
import { benchLogin } from './login.ts'
import { type BenchOptions, readOptions } from './options.ts'
import { benchOverload } from './overload.ts'
import { benchPage } from './page.ts'
import { benchPostgres } from './postgres.ts'
import { benchPurge } from './purge.ts'
import { benchRead } from './read.ts'
import { benchRefusals } from './refusals.ts'
import { benchRollUps } from './roll-ups.ts'
import { benchStart } from './start.ts'
import { benchStorm } from './storm.ts'
import { benchSupplier } from './supplier.ts'
import { benchTail } from './tail.ts'
import { benchWebhooks } from './webhooks.ts'

const values = readOptions()
if (values !== undefined) {
  // Not in the system's temporary folder, which may be memory: what is measured includes the disk.
  const folder = mkdtempSync(join(import.meta.dirname, '../data-bench-'))
  const options: BenchOptions = {
    folder,
    rounds: Number(values.rounds),
    seconds: Number(values.seconds ?? (values.tail ? 60 : 8)),
    connections: Number(values.connections),
    most: Number(
      values.most ??
        (values.backup ? 1_000_000_000 : values.read || values.refusals || values.backlog ? 1_000_000 : 5_000_000),
    ),
    postgres: values.postgres,
    shape: values.shape,
    rate: values.rate === undefined ? undefined : Number(values.rate),
  }
  try {
    const purge = (_load: unknown, options: BenchOptions) =>
      benchPurge(options, { old: Number(values.old), perSecond: options.rate ?? 5000 })
    const chosen = [
      values.read && benchRead,
      values['busy-reads'] && benchBusyReads,
      values.supplier && benchSupplier,
      values.refusals && benchRefusals,
      values.feed && benchFeed,
      values.webhooks && benchWebhooks,
      values.backlog && ((_load: unknown, options: BenchOptions) => benchBacklog(options)),
      values.tail && benchTail,
      values.grow && benchGrowth,
      values.postgres && benchPostgres,
      values.login && benchLogin,
      values.storm && benchStorm,
      values.overload && benchOverload,
      values.backup && benchBackup,
      values.bulk && benchBulk,
      values.purge && purge,
      values['roll-ups'] && benchRollUps,
      values.consoles && benchConsoles,
      values.exports && benchExports,
      values.page && benchPage,
      values.forms && benchForms,
      values.start && ((_load: unknown, options: BenchOptions) => benchStart(options)),
    ]
    const bench = chosen.find((each) => each !== false) ?? benchDeliveries
    await bench(await findLoad(folder, options.shape), options)
  } finally {
    rmSync(folder, { recursive: true })
  }
}
