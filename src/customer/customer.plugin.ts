import type { FastifyPluginAsync } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { Clock } from '#src/lib/clock.ts'
import type { VersionWatch } from '#src/lib/version-watch.ts'
import type { Store } from '#src/store/store.ts'
import { type Accounts, createAccounts } from './accounts.ts'
import { createKeyUses, type KeyUses } from './key-uses.ts'

declare module 'fastify' {
  interface FastifyInstance {
    accounts: Accounts
    keyUses: KeyUses
  }
}

export interface CustomerOptions {
  readonly store: Store
  readonly versions: VersionWatch
  readonly clock: Clock
}

const plugin: FastifyPluginAsync<CustomerOptions> = async (app, { store, versions, clock }) => {
  const keyUses = createKeyUses(store.apiKeys, clock, (error) =>
    app.log.warn({ err: error }, 'the last use of keys could not be written down'),
  )
  app.decorate('accounts', createAccounts(store.apiKeys, versions, clock))
  app.decorate('keyUses', keyUses)
  app.addHook('onClose', () => keyUses.flush())
}

export const customerPlugin = fastifyPlugin(plugin, { name: 'customer' })
