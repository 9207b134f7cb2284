import { parseArgs } from 'node:util'
import { SHAPES, type Shape, type ShapeName } from './shapes.ts'

export interface BenchOptions {
  readonly folder: string
  readonly rounds: number
  readonly seconds: number
  readonly connections: number
  readonly most: number
  readonly postgres: boolean
  readonly shape: Shape
  /** Deliveries a second; undefined for the usual ones. */
  readonly rate: number | undefined
}

const HELP = `Usage: npm run bench -- [OPTIONS]

Without one of the options up to --refusals: deliveries to teslim, to bare Fastify and to the obvious implementation, on SQLite.

  --read           list, detail and delivery of orders; with --postgres from there
  --busy-reads     the same while 10,000 deliveries a second come in
  --supplier       what suppliers read by their API keys; with --postgres from there
  --feed           followers of the feed; with --postgres they follow another replica
  --grow           deliveries while the store grows
  --postgres       deliveries to replicas on PostgreSQL
  --login          logins
  --storm          deliveries during a storm of logins
  --tail           deliveries at fixed rates, and what the slowest of them waited for; with --postgres there
  --overload       deliveries beyond capacity
  --backup         deliveries at a fixed rate while a backup is made
  --bulk           one upload of many deliveries against one a request
  --purge          deliveries at a fixed rate while old ones are removed
  --roll-ups       deliveries with and without counting by hour, and reading the counts
  --consoles       deliveries while operators' consoles are open; with --postgres there
  --exports        deliveries while operators export lists; with --postgres there
  --page           the console in a browser: how soon it is seen, how smoothly 10,000 rows scroll
  --start          processor time and memory of commands and of a server's start, also of what npm run build made
  --forms          deliveries and logins to what npm run build made, and to the checkout
  --webhooks       deliveries pushed to one endpoint, and to many of which two are out of order; with --postgres from there
  --backlog        deliveries pushed to an endpoint that refuses one order, behind which many wait; with --postgres from there
  --refusals       refusals as suppliers list them; with --postgres from there

  --shape NAME     what deliveries look like (stream):
${Object.entries(SHAPES)
  .map(([name, { description }]) => `                     ${name.padEnd(8)}${description}`)
  .join('\n')}
  --rounds N       rounds of each measurement (5)
  --seconds N      seconds of each round (8; 60 with --tail)
  --connections N  connections that send at once (64)
  --most N         stored deliveries: --grow ends with them (5,000,000), --read starts with them (1,000,000),
                   --supplier starts with them (5,000,000),
                   --backlog has so many waiting (1,000,000),
                   --refusals with so many refusals (1,000,000),
                   --purge starts with them (5,000,000); with --backup the bytes of the store (1,000,000,000)
  --old N          deliveries that --purge removes (1,000,000)
  --rate N         deliveries a second of --purge (5,000), --busy-reads (10,000), --tail (1,000, 5,000, 10,000 and 20,000)
  --help           show this help`

/** Reads the command line; undefined when it asked for help, which is printed then. */
export function readOptions() {
  const { values } = parse()
  if (values.help) {
    console.log(HELP)
    return undefined
  }
  if (!(values.shape in SHAPES)) {
    console.error(`there is no shape ${values.shape}: it is one of ${Object.keys(SHAPES).join(', ')}`)
    process.exit(2)
  }
  return { ...values, shape: SHAPES[values.shape as ShapeName] as Shape }
}

function parse() {
  try {
    return parseOptions()
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const unknown = code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION' && /'(-[^']*)'/.exec(message)?.[1]
    console.error(`${unknown ? `there is no option ${unknown}` : message} (see npm run bench -- --help)`)
    process.exit(2)
  }
}

const parseOptions = () =>
  parseArgs({
    options: {
      postgres: { type: 'boolean', default: false },
      login: { type: 'boolean', default: false },
      storm: { type: 'boolean', default: false },
      grow: { type: 'boolean', default: false },
      read: { type: 'boolean', default: false },
      'busy-reads': { type: 'boolean', default: false },
      supplier: { type: 'boolean', default: false },
      feed: { type: 'boolean', default: false },
      overload: { type: 'boolean', default: false },
      backup: { type: 'boolean', default: false },
      purge: { type: 'boolean', default: false },
      'roll-ups': { type: 'boolean', default: false },
      refusals: { type: 'boolean', default: false },
      consoles: { type: 'boolean', default: false },
      exports: { type: 'boolean', default: false },
      bulk: { type: 'boolean', default: false },
      page: { type: 'boolean', default: false },
      start: { type: 'boolean', default: false },
      forms: { type: 'boolean', default: false },
      backlog: { type: 'boolean', default: false },
      webhooks: { type: 'boolean', default: false },
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string' },
      connections: { type: 'string', default: '64' },
      most: { type: 'string' },
      old: { type: 'string', default: '1000000' },
      rate: { type: 'string' },
      shape: { type: 'string', default: 'stream' },
      tail: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
