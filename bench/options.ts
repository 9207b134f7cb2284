import { parseArgs } from 'node:util'

export interface BenchOptions {
  readonly folder: string
  readonly rounds: number
  readonly seconds: number
  readonly connections: number
  readonly most: number
  readonly postgres: boolean
}

const HELP = `Usage: npm run bench -- [OPTIONS]

Without one of the options up to --refusals: deliveries to teslim, to bare Fastify and to the obvious implementation, on SQLite.

  --read           list, detail and delivery of orders; with --postgres from there
  --supplier       what suppliers read by their API keys; with --postgres from there
  --feed           followers of the feed; with --postgres they follow another replica
  --grow           deliveries while the store grows
  --postgres       deliveries to replicas on PostgreSQL
  --login          logins
  --storm          deliveries during a storm of logins
  --overload       deliveries beyond capacity
  --backup         deliveries at a fixed rate while a backup is made
  --bulk           one upload of many deliveries against one a request
  --purge          deliveries at a fixed rate while old ones are removed
  --roll-ups       deliveries with and without counting by hour, and reading the counts
  --consoles       deliveries while operators' consoles are open; with --postgres there
  --page           the console in a browser: how soon it is seen, how smoothly 10,000 rows scroll
  --webhooks       deliveries pushed to one endpoint, and to many of which two are out of order; with --postgres from there
  --refusals       refusals as suppliers list them; with --postgres from there

  --rounds N       rounds of each measurement (5)
  --seconds N      seconds of each round (8)
  --connections N  connections that send at once (64)
  --most N         stored deliveries: --grow ends with them (5,000,000), --read starts with them (1,000,000),
                   --supplier starts with them (5,000,000),
                   --refusals with so many refusals (1,000,000),
                   --purge starts with them (5,000,000); with --backup the bytes of the store (1,000,000,000)
  --old N          deliveries that --purge removes (1,000,000)
  --rate N         deliveries a second of --purge (5,000)
  --help           show this help`

/** Reads the command line; undefined when it asked for help, which is printed then. */
export function readOptions() {
  const { values } = parse()
  if (!values.help) return values
  console.log(HELP)
  return undefined
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
      supplier: { type: 'boolean', default: false },
      feed: { type: 'boolean', default: false },
      overload: { type: 'boolean', default: false },
      backup: { type: 'boolean', default: false },
      purge: { type: 'boolean', default: false },
      'roll-ups': { type: 'boolean', default: false },
      refusals: { type: 'boolean', default: false },
      consoles: { type: 'boolean', default: false },
      bulk: { type: 'boolean', default: false },
      page: { type: 'boolean', default: false },
      webhooks: { type: 'boolean', default: false },
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '8' },
      connections: { type: 'string', default: '64' },
      most: { type: 'string' },
      old: { type: 'string', default: '1000000' },
      rate: { type: 'string', default: '5000' },
      help: { type: 'boolean', default: false },
    },
  })
