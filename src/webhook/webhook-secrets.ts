import { AppError } from '#src/lib/app-error.ts'
import type { SecretRewrap, Webhook, WebhookStore } from '#src/store/store.ts'
import { createKeySealing, type SealedKind, type SealingOptions, type Wrapping } from '#src/token/key-sealing.ts'
import { signingKeyErrors } from '#src/token/signing-key.errors.ts'
import type { Rewrapped } from '#src/token/signing-key.rule.ts'
import { type NamedHeader, readHeaders, storedHeaders } from './headers.ts'
import { webhookErrors } from './webhook.errors.ts'

/** Every secret begins like this, as in Standard Webhooks. */
export const SECRET_PREFIX = 'whsec_'

const SECRETS: SealedKind = {
  context: 'teslim webhook secrets 1',
  clearPrefix: SECRET_PREFIX,
  nameOf: (id) => `the secret of the webhook endpoint ${id}`,
  cannotOpen: webhookErrors.secretCannotOpen,
}

/** Values are sealed as JSON, each bound to the endpoint and the name. */
const HEADERS: SealedKind = {
  context: 'teslim webhook headers 1',
  clearPrefix: '"',
  nameOf(bound) {
    const [id, name] = bound.split(' ')
    return `the header ${name} of the webhook endpoint ${id}`
  },
  cannotOpen: webhookErrors.secretCannotOpen,
}

/** What an endpoint sends and others must not know. */
export interface EndpointSecrets {
  /** The secrets that sign at a time. */
  signing(now: number): readonly string[]
  /** Headers of the endpoint's own, by name. */
  readonly headers: Readonly<Record<string, string>>
}

type Secrets = Pick<Webhook, 'id' | 'secret' | 'formerSecret' | 'headers'>

/** A secret, or the value of a header. */
interface Stored {
  readonly id: string
  readonly which: SecretRewrap['which']
  readonly header?: string
  readonly sealed: string
}

export type WebhookSecrets = ReturnType<typeof createWebhookSecrets>

const MAX_TRIES = 10

/** Seals the secrets that sign and the values of headers, and opens them. */
export function createWebhookSecrets(options: SealingOptions) {
  const sealings = { secret: createKeySealing(options, SECRETS), header: createKeySealing(options, HEADERS) }

  const boundTo = ({ id, header }: Omit<Stored, 'sealed' | 'which'>) =>
    header === undefined
      ? { sealing: sealings.secret, kind: SECRETS, name: id }
      : { sealing: sealings.header, kind: HEADERS, name: `${id} ${header.toLowerCase()}` }

  const open = async (stored: Stored): Promise<{ text: string; wrapping: Wrapping }> => {
    const { sealing, kind, name } = boundTo(stored)
    const opened = await sealing.open(name, stored.sealed)
    // The text itself stays out of the error.
    if (opened.text.startsWith(kind.clearPrefix)) return opened
    throw new AppError(webhookErrors.secretCannotOpen, { reason: `${kind.nameOf(name)}: its row is damaged` })
  }

  const rewrapOnce = async (store: WebhookStore, now: number): Promise<Rewrapped | undefined> => {
    const changes: SecretRewrap[] = []
    let [rewrapped, kept] = [0, 0]
    const sealedAgain = async (stored: Stored): Promise<string> => {
      const { text, wrapping } = await open(stored)
      if (wrapping === 'secret') {
        kept++
        return stored.sealed
      }
      rewrapped++
      const { sealing, name } = boundTo(stored)
      return sealing.seal(name, text)
    }
    for (const webhook of await store.list()) {
      const { id, headers } = webhook
      const values: [name: string, sealed: string][] = []
      for (const stored of storedOf(webhook, now)) {
        const { which, header, sealed: from } = stored
        const to = await sealedAgain(stored)
        if (header !== undefined) values.push([header, to])
        else if (to !== from) changes.push({ id, which, from, to })
      }
      const to = storedHeaders(values)
      if (headers !== null && to !== null && to !== headers) changes.push({ id, which: 'headers', from: headers, to })
    }
    const done = changes.length === 0 || (await store.rewrap(changes))
    return done ? { rewrapped, kept } : undefined
  }

  return {
    seal: sealings.secret.seal,

    /** Seals the values of headers of an endpoint. */
    sealHeaders: (id: string, headers: readonly NamedHeader[]): Promise<NamedHeader[]> =>
      Promise.all(
        headers.map(async ([header, value]) => {
          const { sealing, name } = boundTo({ id, header })
          return [header, value === null ? null : await sealing.seal(name, JSON.stringify(value))] as const
        }),
      ),

    /** The secrets that sign at a time, the current one first. Throws WEBHOOK_SECRET_CANNOT_OPEN, which names the endpoint. */
    async signing(webhook: Omit<Secrets, 'headers'>, now: number): Promise<string[]> {
      const all = storedOf({ ...webhook, headers: null }, now)
      return Promise.all(all.map(async (stored) => (await open(stored)).text))
    },

    /** The headers of an endpoint's own, by name. Throws WEBHOOK_SECRET_CANNOT_OPEN. */
    async headers({ id, headers }: Pick<Secrets, 'id' | 'headers'>): Promise<Record<string, string>> {
      const opened = headersOf(id, headers).map(
        async (stored) => [stored.header, JSON.parse((await open(stored)).text) as string] as const,
      )
      return Object.fromEntries(await Promise.all(opened))
    },

    /** How the secrets in use and the values of headers are stored; throws if one cannot be opened. */
    async wrappings(webhooks: readonly Secrets[], now: number): Promise<Wrapping[]> {
      const all = webhooks.flatMap((webhook) => storedOf(webhook, now))
      return Promise.all(all.map(async (stored) => (await open(stored)).wrapping))
    },

    /** Encrypts all of them under the secret of the service, whether they were unencrypted or under the former one. */
    async rewrap(store: WebhookStore, now: number): Promise<Rewrapped> {
      if (!sealings.secret.hasSecret) throw new AppError(signingKeyErrors.secretMissing)
      for (let tries = 0; tries < MAX_TRIES; tries++) {
        const result = await rewrapOnce(store, now)
        if (result !== undefined) return result
      }
      throw new AppError(signingKeyErrors.changedMeanwhile)
    },
  }
}

const headersOf = (id: string, headers: string | null) =>
  readHeaders(headers).map(([header, sealed]) => ({ id, which: 'headers' as const, header, sealed }))

const storedOf = ({ id, secret, formerSecret, headers }: Secrets, now: number): Stored[] => [
  { id, which: 'secret', sealed: secret },
  ...(formerSecret !== null && formerSecret.until > now
    ? [{ id, which: 'formerSecret' as const, sealed: formerSecret.sealed }]
    : []),
  ...headersOf(id, headers),
]
