import type { Bench } from './options.ts'

const TIMED = { rounds: true, seconds: true } as const
const LOADED = { ...TIMED, connections: true, shape: true } as const

/** Everything that can be measured. Each is loaded when it is run. */
export const BENCHES = {
  deliveries: {
    about: 'deliveries to teslim, to bare Fastify and to the obvious implementation; with --postgres to replicas',
    minutes: 4,
    gigabytes: 1,
    heeds: { ...LOADED, postgres: true },
    async run(options) {
      if (options.postgres) await (await import('./postgres.ts')).benchPostgres(options)
      else await (await import('./deliveries.ts')).benchDeliveries(options)
    },
  },
  bursts: {
    about: 'deliveries, logins and pages of the feed after pauses of 6, 30 and 120 s',
    minutes: 25,
    gigabytes: 1,
    heeds: { ...TIMED, seconds: 3, connections: true },
    run: async (options) => (await import('./bursts.ts')).benchBursts(options),
  },
  tail: {
    about: 'deliveries at fixed rates, and what the slowest of them waited for',
    minutes: 15,
    gigabytes: 3,
    heeds: { seconds: 60, rate: true, postgres: true, shape: true },
    run: async (options) => (await import('./tail.ts')).benchTail(options),
  },
  low: {
    about: 'deliveries at low rates to servers that have just started and to warm ones',
    minutes: 25,
    gigabytes: 1,
    heeds: { ...LOADED, seconds: 4, postgres: true },
    run: async (options) => (await import('./low.ts')).benchLow(options),
  },
  idle: {
    about: 'processor time, wake-ups and memory of servers while no request comes',
    minutes: 16,
    gigabytes: 1,
    heeds: { ...TIMED, seconds: 10, connections: true },
    run: async (options) => (await import('./idle.ts')).benchIdle(options),
  },
  grow: {
    about: 'reading, commands, a purge, a backup and deliveries with 200,000 deliveries stored and with up to --most',
    minutes: 30,
    gigabytes: 25,
    heeds: { ...LOADED, rounds: 3, seconds: 4, most: 20_000_000, postgres: true },
    run: async (options) => (await import('./growth.ts')).benchGrowth(options),
  },
  overload: {
    about: 'deliveries beyond capacity',
    minutes: 1,
    gigabytes: 1,
    heeds: { seconds: true, connections: true, shape: true },
    run: async (options) => (await import('./overload.ts')).benchOverload(options),
  },
  backup: {
    about: 'deliveries at a fixed rate while a store of --most bytes is backed up',
    minutes: 3,
    gigabytes: 3,
    heeds: { ...TIMED, most: 1_000_000_000 },
    run: async (options) => (await import('./backup.ts')).benchBackup(options),
  },
  purge: {
    about: 'deliveries at a fixed rate while --old of --most are removed',
    minutes: 10,
    gigabytes: 3,
    heeds: { seconds: true, most: true, old: true, rate: 5000 },
    run: async (options) => (await import('./purge.ts')).benchPurge(options),
  },
  'roll-ups': {
    about: 'deliveries with and without counting by hour, and reading the counts',
    minutes: 3,
    gigabytes: 1,
    heeds: LOADED,
    run: async (options) => (await import('./roll-ups.ts')).benchRollUps(options),
  },
  login: {
    about: 'logins',
    minutes: 3,
    gigabytes: 1,
    heeds: { ...TIMED, connections: true },
    run: async (options) => (await import('./login.ts')).benchLogin(options),
  },
  storm: {
    about: 'deliveries during a storm of logins',
    minutes: 3,
    gigabytes: 1,
    heeds: { ...TIMED, shape: true },
    run: async (options) => (await import('./storm.ts')).benchStorm(options),
  },
  read: {
    about: 'lists, details and deliveries of orders, and pages beside a bare SELECT',
    minutes: 5,
    gigabytes: 1,
    heeds: { rounds: 7, most: 1_000_000, postgres: true },
    run: async (options) => (await import('./read.ts')).benchRead(options),
  },
  supplier: {
    about: 'what suppliers read by their API keys',
    minutes: 10,
    gigabytes: 4,
    heeds: { rounds: true, most: true, postgres: true },
    run: async (options) => (await import('./supplier.ts')).benchSupplier(options),
  },
  refusals: {
    about: 'what suppliers read of --most refusals',
    minutes: 4,
    gigabytes: 1,
    heeds: { rounds: true, most: 1_000_000, postgres: true },
    run: async (options) => (await import('./refusals.ts')).benchRefusals(options),
  },
  feed: {
    about: 'followers of the feed; with --postgres they follow another replica',
    minutes: 3,
    gigabytes: 1,
    heeds: { ...LOADED, postgres: true },
    run: async (options) => (await import('./feed.ts')).benchFeed(options),
  },
  webhooks: {
    about: 'deliveries pushed to one endpoint, and to many of which two are out of order',
    minutes: 8,
    gigabytes: 1,
    heeds: { ...LOADED, postgres: true },
    run: async (options) => (await import('./webhooks.ts')).benchWebhooks(options),
  },
  backlog: {
    about: 'deliveries pushed to an endpoint that refuses one order, behind which --most wait',
    minutes: 5,
    gigabytes: 1,
    heeds: { ...TIMED, most: 1_000_000, postgres: true },
    run: async (options) => (await import('./backlog.ts')).benchBacklog(options),
  },
  consoles: {
    about: "deliveries while operators' consoles are open",
    minutes: 3,
    gigabytes: 1,
    heeds: { ...LOADED, postgres: true },
    run: async (options) => (await import('./consoles.ts')).benchConsoles(options),
  },
  exports: {
    about: 'deliveries while operators export lists',
    minutes: 3,
    gigabytes: 1,
    heeds: { ...LOADED, postgres: true },
    run: async (options) => (await import('./consoles.ts')).benchExports(options),
  },
  page: {
    about: 'the console in a browser: how soon it is seen, how smoothly 10,000 rows scroll',
    minutes: 3,
    gigabytes: 1,
    heeds: TIMED,
    run: async (options) => (await import('./page.ts')).benchPage(options),
  },
  start: {
    about: "processor time and memory of commands and of a server's start, also of what npm run build made",
    minutes: 1,
    gigabytes: 1,
    heeds: { rounds: true },
    run: async (options) => (await import('./start.ts')).benchStart(options),
  },
  forms: {
    about: 'deliveries and logins to what npm run build made, and to the checkout',
    minutes: 6,
    gigabytes: 2,
    heeds: LOADED,
    run: async (options) => (await import('./forms.ts')).benchForms(options),
  },
} as const satisfies Readonly<Record<string, Bench>>
