import type { RecordAct } from '#src/audit/acts.ts'
import type { Config } from '#src/config/load-config.ts'
import { openStore } from '#src/store/open-store.ts'
import type { Store } from '#src/store/store.ts'
import type { SigningKeyRules, SigningKeyView } from '#src/token/signing-key.rule.ts'
import type { CliContext } from '../command.ts'
import { recordAct } from '../record-act.ts'

/** Opens the store for the length of one piece of work on signing keys. */
export async function withSigningKeys<Result>(
  context: CliContext,
  work: (rules: SigningKeyRules, record: RecordAct) => Promise<Result>,
  change: Partial<Config> = {},
): Promise<Result> {
  const config = { ...context.loadConfig().config, ...change }
  const { store } = await openStore(config, context.clock.now())
  try {
    return await work(await signingKeyRules(store, config, context), recordAct(store, context))
  } finally {
    await store.close()
  }
}

export async function signingKeyRules(
  store: Store,
  { secret, formerSecret, tokenAlgorithm, tokenTtlSeconds }: Config,
  { clock, random }: Pick<CliContext, 'clock' | 'random'>,
): Promise<SigningKeyRules> {
  // Loaded here because the other commands start sooner without them.
  const { createKeySealing } = await import('#src/token/key-sealing.ts')
  const { createSigningKeyRules } = await import('#src/token/signing-key.rule.ts')
  return createSigningKeyRules({
    store: store.signingKeys,
    sealing: createKeySealing({ secret, formerSecret, random }),
    clock,
    algorithm: tokenAlgorithm,
    ttlSeconds: tokenTtlSeconds,
  })
}

const iso = (milliseconds: number): string => new Date(milliseconds).toISOString()

/** A key as JSON shows it. */
export const signingKeyJson = ({ kid, algorithm, state, createdAt, expiresAt, encrypted }: SigningKeyView) => ({
  kid,
  algorithm,
  state,
  createdAt: iso(createdAt),
  expiresAt: expiresAt === null ? null : iso(expiresAt),
  encrypted,
})
