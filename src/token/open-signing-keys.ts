import type { Config } from '#src/config/load-config.ts'
import type { Clock } from '#src/lib/clock.ts'
import type { Random } from '#src/lib/random.ts'
import type { Store } from '#src/store/store.ts'
import type { SigningKeyRules } from './signing-key.rule.ts'

/** The operators' actions on the signing keys of a store, under the secrets of the settings. */
export async function signingKeyRules(
  store: Store,
  { secret, formerSecret, tokenAlgorithm, tokenTtlSeconds }: Config,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
): Promise<SigningKeyRules> {
  // Loaded here because commands that need no signing key start sooner without them.
  const { createKeySealing } = await import('./key-sealing.ts')
  const { createSigningKeyRules } = await import('./signing-key.rule.ts')
  return createSigningKeyRules({
    store: store.signingKeys,
    sealing: createKeySealing({ secret, formerSecret, random }),
    clock,
    algorithm: tokenAlgorithm,
    ttlSeconds: tokenTtlSeconds,
  })
}
