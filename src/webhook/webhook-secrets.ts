import { AppError } from '#src/lib/app-error.ts'
import type { SecretRewrap, Webhook, WebhookStore } from '#src/store/store.ts'
import { createKeySealing, type SealedKind, type SealingOptions, type Wrapping } from '#src/token/key-sealing.ts'
import { signingKeyErrors } from '#src/token/signing-key.errors.ts'
import { webhookErrors } from './webhook.errors.ts'

/** Every secret begins like this, as in Standard Webhooks. */
export const SECRET_PREFIX = 'whsec_'

const KIND: SealedKind = {
  context: 'teslim webhook secrets 1',
  clearPrefix: SECRET_PREFIX,
  nameOf: (id) => `the secret of the webhook endpoint ${id}`,
  cannotOpen: webhookErrors.secretCannotOpen,
}

export interface Rewrapped {
  readonly rewrapped: number
  /** Secrets that were encrypted under the secret already. */
  readonly kept: number
}

type Secrets = Pick<Webhook, 'id' | 'secret' | 'formerSecret'>

interface Stored {
  readonly id: string
  readonly which: SecretRewrap['which']
  readonly sealed: string
}

export type WebhookSecrets = ReturnType<typeof createWebhookSecrets>

const MAX_TRIES = 10

/** Seals the secrets that sign, and opens them. */
export function createWebhookSecrets(options: SealingOptions) {
  const sealing = createKeySealing(options, KIND)

  const open = async ({ id, sealed }: Stored): Promise<{ text: string; wrapping: Wrapping }> => {
    const opened = await sealing.open(id, sealed)
    // The text itself stays out of the error.
    if (opened.text.startsWith(SECRET_PREFIX)) return opened
    throw new AppError(webhookErrors.secretCannotOpen, { reason: `${KIND.nameOf(id)}: its row is damaged` })
  }

  const rewrapOnce = async (store: WebhookStore, now: number): Promise<Rewrapped | undefined> => {
    const all = (await store.list()).flatMap((webhook) => storedOf(webhook, now))
    const changes: SecretRewrap[] = []
    for (const stored of all) {
      const { id, which, sealed: from } = stored
      const { text, wrapping } = await open(stored)
      if (wrapping !== 'secret') changes.push({ id, which, from, to: await sealing.seal(id, text) })
    }
    const done = changes.length === 0 || (await store.rewrap(changes))
    return done ? { rewrapped: changes.length, kept: all.length - changes.length } : undefined
  }

  return {
    seal: sealing.seal,

    /** The secrets that sign at a time, the current one first. Throws WEBHOOK_SECRET_CANNOT_OPEN, which names the endpoint. */
    async signing(webhook: Secrets, now: number): Promise<string[]> {
      return Promise.all(storedOf(webhook, now).map(async (stored) => (await open(stored)).text))
    },

    /** How the secrets in use are stored; throws if one cannot be opened. */
    async wrappings(webhooks: readonly Secrets[], now: number): Promise<Wrapping[]> {
      const all = webhooks.flatMap((webhook) => storedOf(webhook, now))
      return Promise.all(all.map(async (stored) => (await open(stored)).wrapping))
    },

    /** Encrypts every secret in use under the secret of the service, whether it was unencrypted or under the former one. */
    async rewrap(store: WebhookStore, now: number): Promise<Rewrapped> {
      if (!sealing.hasSecret) throw new AppError(signingKeyErrors.secretMissing)
      for (let tries = 0; tries < MAX_TRIES; tries++) {
        const result = await rewrapOnce(store, now)
        if (result !== undefined) return result
      }
      throw new AppError(signingKeyErrors.changedMeanwhile)
    },
  }
}

const storedOf = ({ id, secret, formerSecret }: Secrets, now: number): Stored[] => [
  { id, which: 'secret', sealed: secret },
  ...(formerSecret !== null && formerSecret.until > now
    ? [{ id, which: 'formerSecret' as const, sealed: formerSecret.sealed }]
    : []),
]
