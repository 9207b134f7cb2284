import { inject } from 'vitest'
import { loadConfig } from '#src/config/load-config.ts'
import { openStore } from '#src/store/open-store.ts'
import { newDatabase } from '../support/postgres-server.ts'
import type { Open } from './conformance/promises.ts'
import { describeStore } from './store-conformance.ts'

const openEmpty = (): Open => {
  const created = newDatabase(inject('postgresUrl'))
  return async () => {
    const { config } = loadConfig({ DATABASE_URL: await created, TESLIM_DATABASE_TIMEOUT: '10' })
    return (await openStore(config, 0)).store
  }
}

describeStore('postgres', openEmpty(), openEmpty)
