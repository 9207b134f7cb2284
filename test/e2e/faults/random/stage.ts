import { onTestFinished } from 'vitest'
import { runPrepared } from '../../../support/processes/prepared-commands.ts'
import { type BackOffice, startBackOffice } from './back-office.ts'
import { deliverRefused, logInAndOut, readBack, scrapeAll } from './bystanders.ts'
import { type Commands, createCommands } from './commands.ts'
import { type Follower, followByPolls, followByStream, type LiveView, type Reader, watchLive } from './followers.ts'
import type { Judge } from './judge.ts'
import type { Site } from './site.ts'
import { type Account, type Supplier, startSupplier } from './suppliers.ts'

/** Everybody who goes on while faults come and go. */
export interface Stage {
  readonly site: Site
  readonly judge: Judge
  readonly suppliers: readonly Supplier[]
  readonly followers: readonly Follower[]
  readonly live: LiveView
  readonly backOffice: BackOffice
  readonly commands: Commands
  readonly reader: Reader
  /** No new deliveries and commands; resolves once every delivery has its receipt. */
  stopSending(): Promise<unknown>
  /** Ends everybody. */
  leave(): Promise<unknown>
}

const SUPPLIERS = 3

export async function openStage(site: Site, judge: Judge): Promise<Stage> {
  const stopping = new AbortController()
  const leaving = new AbortController()
  const [stop, abort] = [stopping.signal, leaving.signal]
  const actors: Promise<unknown>[] = []
  const leave = (): Promise<unknown> => {
    stopping.abort()
    leaving.abort()
    return Promise.allSettled(actors)
  }
  onTestFinished(async () => void (await leave()))

  const operator = await addAccount(site, 'operator@example.com', '--api', '--operator')
  const accounts: Account[] = []
  for (let number = 0; number < SUPPLIERS; number++)
    accounts.push(await addAccount(site, `supplier-${number}@example.com`, '--api', '--allow', '*'))
  const backOffice = await startBackOffice(judge, abort)
  await prepare(site, 'webhook', 'add', '--url', backOffice.url)
  await site.start()

  const { replicas } = site
  const reader: Reader = { judge, replicas, operator, abort }
  const suppliers = accounts.map((account) => startSupplier({ account, replicas, judge, stop, abort }))
  const followers = [followByPolls(reader), followByStream(reader)]
  const live = watchLive(reader)
  const commands = createCommands(site, judge)
  const sending = suppliers.map(({ ended }) => ended)
  actors.push(...sending, ...followers.map(({ ended }) => ended), live.ended, backOffice.ended)
  actors.push(scrapeAll(reader), logInAndOut(reader, suppliers), deliverRefused(reader, suppliers), readBack(reader))
  actors.push(commands.work(stop))
  // An actor that fails is a mistake of this program.
  Promise.all(actors).catch((error: Error) => judge.problem(`${error.stack}`))

  return {
    ...{ site, judge, suppliers, followers, live, backOffice, commands, reader, leave },
    stopSending() {
      stopping.abort()
      return Promise.all(sending)
    },
  }
}

async function prepare({ where }: Site, ...args: string[]): Promise<Record<string, unknown>> {
  const { status, stdout, stderr } = await runPrepared([...args, '--json'], where)
  if (status !== 0) throw new Error(`teslim ${args.join(' ')}: ${stderr}`)
  return JSON.parse(stdout)
}

async function addAccount(site: Site, email: string, ...flags: string[]): Promise<Account> {
  const { id, password } = await prepare(site, 'customer', 'add', '--email', email, '--generate', ...flags)
  const { id: keyId, key } = await prepare(site, 'key', 'issue', '--customer', email)
  return { id, email, password, keyId, key } as Account
}
