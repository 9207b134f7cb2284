import { basename, resolve } from 'node:path'
import type { Config } from '#src/config/load-config.ts'
import { counted, listed, printable } from '#src/lib/printable.ts'
import { refuseCursorsAfter } from '#src/purchase/cursors.ts'
import type { StagedRestore } from '#src/store/backup/restore-store.ts'
import { findMoved, keepServersOff, movedText, refuseServers, sqlitePath } from '#src/store/open-store.ts'
import type { Store } from '#src/store/store.ts'
import { type CliContext, type Command, Misuse, type Printed } from '../command.ts'
import { pausedText } from '../output/notes.ts'
import type { Times } from '../output/times.ts'
import { recordAction } from '../with-accounts.ts'
import { withStore } from '../with-store.ts'
import { judgeBackup } from './backup-proof.ts'
import { type Contents, contentsJson, contentsOf, contentsText } from './contents.ts'
import { type Comparison, compareStores } from './undone.ts'
import type { Undone } from './undone-row.ts'

export const restore: Command = {
  name: 'restore',
  about: 'Replace the embedded store by a backup; no server may run',
  details:
    'Verifies the backup first, by its HMAC where TESLIM_SECRET is set, and that the secret opens its signing keys. Keeps the old store beside the new one, and says what was undone. Cursors of followers that lie after the backup are refused from then on, and endpoints of webhooks are paused.',
  positionals: ['[PATH]'],
  options: {
    check: { about: 'Only verify the backup' },
    unproved: { about: 'Also take a backup that has no HMAC beside it, although TESLIM_SECRET is set' },
    recovered: {
      about:
        'Instead of PATH: the store was set back by other means, such as PostgreSQL point-in-time recovery. Refuses every cursor made before',
    },
  },
  async run(input, context) {
    const [path] = input.positionals
    const { config } = context.loadConfig()
    if (input.flag('recovered')) {
      if (path !== undefined || input.flag('check') || input.flag('unproved'))
        throw new Misuse('--recovered stands alone')
      return acceptRecovered(config, context)
    }
    if (path === undefined) throw new Misuse('PATH is missing')
    if (!config.databaseUrl.startsWith('sqlite:'))
      throw new Misuse(
        'DATABASE_URL names a PostgreSQL database, which has its own tools: restore it with pg_restore or point-in-time recovery, then run teslim restore --recovered before any server starts',
      )
    const run = input.flag('check') ? checkBackup : restoreBackup
    return run(resolve(path), input.flag('unproved'), config, context)
  },
}

const verifying = (context: CliContext) => (done: number, all: number) =>
  context.progress(`verified: ${Math.floor((100 * done) / all)} %`)

async function checkBackup(path: string, unproved: boolean, config: Config, context: CliContext): Promise<Printed> {
  const { verifyBackup } = await import('#src/store/backup/restore-store.ts')
  const judge = judgeBackup(config)
  const verified = await verifyBackup(path, { to: config, judge, unproved, onProgress: verifying(context) })
  const { store, pending, bytes } = verified
  try {
    const contents = await contentsOf(store, config, context)
    context.progress('')
    const digest = verified.digestCompared
      ? ', and its SHA-256 matches'
      : '; there is no SHA-256 beside it to compare with'
    return {
      json: { path, bytes, ...proofJson(verified), pending, ...contentsJson(contents) },
      text: () =>
        `${path} can be restored: it is undamaged${digest}.${hmacText(verified, path, config)}\n${contentsText(contents, context.times)}`,
    }
  } finally {
    await store.close()
  }
}

async function restoreBackup(path: string, unproved: boolean, config: Config, context: CliContext): Promise<Printed> {
  const { restoreStore } = await import('#src/store/backup/restore-store.ts')
  const now = context.clock.now()
  const stop = context.stopSignal()
  const { kept, result } = await restoreStore(
    { path, to: config, now, stop, judge: judgeBackup(config), unproved, onProgress: verifying(context) },
    async (staged) => {
      const { store } = staged
      const contents = await contentsOf(store, config, context)
      const compared = await compare(staged, contents, now, context.times)
      const moved = staged.replaced === undefined ? undefined : findMoved(config)
      if (moved !== undefined)
        context.err(
          `teslim: ${movedText(sqlitePath(config.databaseUrl), moved)}. What is stored there since is not in this backup, and must not be used as well.`,
        )
      const details = { from: path, deliveriesUndone: compared.deliveriesUndone }
      const endpointsPaused = await breakWithPast(store, contents.lastPosition, details, now, context)
      return { contents, compared, endpointsPaused, staged }
    },
  )
  context.progress('')
  const { contents, compared, endpointsPaused, staged } = result
  const { notCompared, deliveriesUndone, undone, ...missing } = compared
  const restored = sqlitePath(config.databaseUrl)
  const rows = undone.map(([what, happened, command]) => ({ what, happened, command }))
  const found = { ...proofJson(staged), notCompared, deliveriesUndone, undone: rows, ...missing }
  const digest = staged.digestCompared ? '' : ' There was no SHA-256 beside it to compare with.'
  return {
    json: { path, restored, kept, ...contentsJson(contents), ...found, ...pausedJson(endpointsPaused) },
    text: () =>
      [
        `${restored} is restored from ${path}.${digest}${hmacText(staged, path, config)}`,
        contentsText(contents, context.times),
        ...pausedLines(endpointsPaused),
        ...(kept === null ? [] : [`The replaced store is kept as ${kept}.`]),
        comparedText(compared),
      ].join('\n'),
  }
}

type Proof = Pick<StagedRestore, 'digestCompared' | 'hmac'>

const proofJson = ({ digestCompared, hmac }: Proof) => ({ digestCompared, hmacCompared: hmac === 'matches' })

/** Who can change a backup can also change the SHA-256 beside it, or remove the HMAC. */
function hmacText({ hmac }: Proof, path: string, { secret }: Config): string {
  if (hmac === 'matches') return ' Its HMAC proves that it was made under the secret of this service.'
  if (hmac === 'unchecked') return ' Its HMAC was not compared, as TESLIM_SECRET is not set.'
  return secret === ''
    ? ''
    : ` Nothing proves that it was made under TESLIM_SECRET: there is no ${basename(path)}.hmac beside it. Make sure that nobody could change it.`
}

const pausedJson = (endpointsPaused: number) => endpointsPaused > 0 && { endpointsPaused }

const pausedLines = (endpointsPaused: number): string[] =>
  endpointsPaused > 0 ? [pausedText(endpointsPaused, 'this store')] : []

/** The two numbers are null where what was undone is not known. */
interface Compared extends Omit<Comparison, 'actions'> {
  /** Why that is not known, or null. */
  readonly notCompared: string | null
  readonly actions: number | null
  readonly deliveriesUndone: number | null
}

const unknown = (why: string): Compared => ({
  undone: [],
  missingCustomers: [],
  missingKeys: [],
  actions: null,
  deliveriesUndone: null,
  notCompared: why,
})

async function compare(
  { store, replaced, notReadable }: StagedRestore,
  contents: Contents,
  now: number,
  times: Times,
): Promise<Compared> {
  if (notReadable !== undefined) return unknown(`the replaced store cannot be read: ${notReadable}`)
  if (replaced === undefined) return unknown('there was no store before')
  try {
    const lastPosition = await replaced.deliveries.lastPosition()
    const [anybody] = await replaced.customers.list({ limit: 1 })
    // Probably made on an empty disk: all that it lacks would seem to be undone.
    if (lastPosition === 0 || anybody === undefined)
      return unknown(
        `the replaced store had no ${anybody === undefined ? 'customers' : 'deliveries'}, so nothing can be concluded from it`,
      )
    const comparison = await compareStores(replaced, store, await lastChange(store, contents), now, times)
    return { ...comparison, deliveriesUndone: Math.max(0, lastPosition - contents.lastPosition), notCompared: null }
  } catch (error) {
    // A damaged or older store may be opened, and fail later.
    return unknown(`the replaced store cannot be read: ${(error as Error).message}`)
  }
}

/** The time of the last delivery or event in a store. */
async function lastChange({ audit }: Store, { lastDelivery }: Contents): Promise<number> {
  const [event] = await audit.list({ limit: 1 })
  return Math.max(event?.at ?? 0, lastDelivery?.receivedAt ?? 0)
}

const MAX_NAMED = 20

/** The command is never wrapped: each line would be one when it is pasted. */
const undoneText = ([what, happened, command]: Undone): string => `${printable(`${what} ${happened}`)}:\n  ${command}`

function comparedText(compared: Compared): string {
  const { notCompared, deliveriesUndone, undone, missingCustomers, missingKeys, actions } = compared
  if (deliveriesUndone === null || actions === null)
    return `What was undone is not known: ${notCompared?.replace(/\.$/, '')}.`
  const named = (what: string, names: readonly string[]): string[] =>
    names.length === 0 ? [] : [`${what} that are no longer there: ${listed(names, MAX_NAMED)}`]
  return [
    `Undone: ${counted(deliveriesUndone, 'delivery', 'deliveries')}, ${counted(actions, 'action')} of operators.`,
    ...named('Customers', missingCustomers),
    ...named('API keys', missingKeys),
    undone.length === 0
      ? 'Nothing that was revoked, disabled or changed works again.'
      : `Run again those that still apply:\n${undone.map(undoneText).join('\n')}`,
  ].join('\n')
}

/** Ends what belongs to the time that is undone, from a position on. Resolves to how many endpoints it has paused. */
async function breakWithPast(store: Store, position: number, details: object, now: number, context: CliContext) {
  await refuseCursorsAfter(position, store.secrets, now)
  await store.consoleSessions.endAll()
  const endpointsPaused = await store.webhooks.pauseAll('restored', now)
  await recordAction(store, context)('store.restore', null, { ...details })
  return endpointsPaused
}

/** For a store that was set back while no server was running. */
async function acceptRecovered(config: Config, context: CliContext): Promise<Printed> {
  await refuseServers(config)
  const now = context.clock.now()
  const { contents, endpointsPaused } = await withStore(context, 'change', async (store) => {
    const lock = keepServersOff(config, now, 'teslim restore')
    try {
      const contents = await contentsOf(store, config, context)
      // Nobody knows how far the cursors of before may be trusted: a server may have stored deliveries since.
      const endpointsPaused = await breakWithPast(store, 0, { recovered: true }, now, context)
      return { contents, endpointsPaused }
    } finally {
      lock.release()
    }
  })
  return {
    json: { recovered: true, ...contentsJson(contents), ...pausedJson(endpointsPaused) },
    text: () =>
      [
        'Every cursor made before is refused from now on.',
        contentsText(contents, context.times),
        ...pausedLines(endpointsPaused),
      ].join('\n'),
  }
}
