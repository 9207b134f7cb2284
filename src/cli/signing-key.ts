import type { Config } from '#src/config/load-config.ts'
import { isoMilliseconds, isoOrNull } from '#src/lib/clock.ts'
import type { Store } from '#src/store/store.ts'
import { signingKeyRules } from '#src/token/open-signing-keys.ts'
import type { SigningKeyView } from '#src/token/signing-key.rule.ts'
import { type Command, Misuse } from './command.ts'
import { readSecretText } from './input/password.ts'
import { table } from './output/table.ts'
import { recordAction } from './with-accounts.ts'
import { withStore } from './with-store.ts'

export const signingKeyList: Command = {
  name: 'signing-key list',
  about: 'List the signing keys of access tokens, newest first',
  async run(_input, context) {
    const keys = await withStore(context, 'read', async (store, config) =>
      (await signingKeyRules(store, config, context)).list(),
    )
    return {
      json: keys.map(signingKeyJson),
      text() {
        if (keys.length === 0) return 'There are no signing keys yet: the first login creates one.'
        const { times, columns } = context
        const rows = keys.map(({ kid, algorithm, state, createdAt, expiresAt, encrypted }) => [
          kid,
          algorithm,
          state,
          times.text(createdAt),
          expiresAt === null ? 'when replaced' : times.text(expiresAt),
          encrypted ? 'encrypted' : 'unencrypted',
        ])
        const heading = ['kid', 'algorithm', 'state', times.heading('created'), times.heading('expires'), 'stored']
        return table(heading, rows, columns)
      },
    }
  },
}

export const signingKeyRotate: Command = {
  name: 'signing-key rotate',
  about: 'Sign access tokens with a new key',
  details: 'The old key verifies tokens until the last one it signed has expired.',
  options: {
    'at-once': {
      about: 'Remove the old keys, for a key that has leaked: within a second every customer must log in again',
    },
  },
  async run(input, context) {
    const atOnce = input.flag('at-once')
    const { key, made } = await withStore(context, 'change', async (store, config) => {
      const rotated = await (await signingKeyRules(store, config, context)).rotate(atOnce)
      const details = { kid: rotated.key.kid, atOnce }
      if (rotated.made) await recordAction(store, context)('signing-key.rotate', null, details)
      return rotated
    })
    const others = atOnce
      ? 'Tokens issued before are refused within a second: customers log in again.'
      : 'Tokens issued before stay valid until they expire.'
    const by = made ? '' : ' Another process created it just now.'
    return {
      json: { ...signingKeyJson(key), made },
      text: () => `${key.kid} signs from now on.${by}\n${others}`,
    }
  },
}

export const signingKeyRewrap: Command = {
  name: 'signing-key rewrap',
  about: 'Encrypt signing keys and webhook secrets under TESLIM_SECRET',
  details: 'Run it after TESLIM_SECRET was set for the first time or has changed.',
  options: {
    'old-secret-stdin': {
      about: 'Read the former secret from stdin, instead of TESLIM_SECRET_OLD or TESLIM_SECRET_OLD_FILE',
    },
  },
  async run(input, context) {
    const change = input.flag('old-secret-stdin') ? { formerSecret: await readSecretText('secret', context) } : {}
    if (change.formerSecret === '') throw new Misuse('there is no secret on stdin')
    const rewrap = async (store: Store, config: Config) => {
      const { createWebhookSecrets } = await import('#src/webhook/webhook-secrets.ts')
      const { secret, formerSecret } = config
      const secrets = createWebhookSecrets({ secret, formerSecret, random: context.random })
      const now = context.clock.now()
      // Nothing is changed unless all of them can be opened.
      await secrets.wrappings(await store.webhooks.list(), now)
      const done = await (await signingKeyRules(store, config, context)).rewrap()
      const webhookSecrets = await secrets.rewrap(store.webhooks, now)
      const details = { ...done, ...(hasAny(webhookSecrets) && { webhookSecrets }) }
      await recordAction(store, context)('signing-key.rewrap', null, details)
      return details
    }
    const done = await withStore(context, 'change', rewrap, change)
    const { rewrapped, kept, webhookSecrets: secrets } = done
    const lines = [`Encrypted under TESLIM_SECRET: ${rewrapped} now, ${kept} before.`]
    if (secrets) lines.push(`Secrets of webhooks: ${secrets.rewrapped} now, ${secrets.kept} before.`)
    return { json: done, text: () => lines.join('\n') }
  },
}

const hasAny = ({ rewrapped, kept }: { readonly rewrapped: number; readonly kept: number }): boolean =>
  rewrapped + kept > 0

const signingKeyJson = ({ kid, algorithm, state, createdAt, expiresAt, encrypted }: SigningKeyView) => ({
  kid,
  algorithm,
  state,
  createdAt: isoMilliseconds(createdAt),
  expiresAt: isoOrNull(expiresAt),
  encrypted,
})
