import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { benchDeliveries } from './deliveries.ts'
import { benchFeed } from './feed.ts'
import { benchGrowth } from './growth.ts'
import { findLoad } from './load.ts'
import { benchLogin } from './login.ts'
import { benchOverload } from './overload.ts'
import { benchPostgres } from './postgres.ts'
import { benchRead } from './read.ts'
import { benchStorm } from './storm.ts'

const { values } = parseArgs({
  options: {
    postgres: { type: 'boolean', default: false },
    login: { type: 'boolean', default: false },
    storm: { type: 'boolean', default: false },
    grow: { type: 'boolean', default: false },
    // With --postgres they read from there.
    read: { type: 'boolean', default: false },
    feed: { type: 'boolean', default: false },
    overload: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '8' },
    connections: { type: 'string', default: '64' },
    // How many stored deliveries --grow goes up to (5 million), and --read begins with (1 million).
    most: { type: 'string' },
  },
})

export interface BenchOptions {
  readonly folder: string
  readonly rounds: number
  readonly seconds: number
  readonly connections: number
  readonly most: number
  readonly postgres: boolean
}

// Not in the system's temporary folder, which may be memory: what is measured includes the disk.
const folder = mkdtempSync(join(import.meta.dirname, '../data-bench-'))
const options = {
  folder,
  rounds: Number(values.rounds),
  seconds: Number(values.seconds),
  connections: Number(values.connections),
  most: Number(values.most ?? (values.read ? 1_000_000 : 5_000_000)),
  postgres: values.postgres,
}
try {
  const chosen = [
    values.read && benchRead,
    values.feed && benchFeed,
    values.grow && benchGrowth,
    values.postgres && benchPostgres,
    values.login && benchLogin,
    values.storm && benchStorm,
    values.overload && benchOverload,
  ]
  const bench = chosen.find((each) => each !== false) ?? benchDeliveries
  await bench(await findLoad(folder), options)
} finally {
  rmSync(folder, { recursive: true })
}
