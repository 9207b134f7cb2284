import { inject } from 'vitest'
import { loadConfig } from '#src/config/load-config.ts'
import { openStore } from '#src/store/open-store.ts'
import { newDatabase, runSql } from '../support/postgres/postgres-server.ts'
import type { Open } from './conformance/promises.ts'
import { describeStore } from './store-conformance.ts'

/** Each is published, as for logical replication: PostgreSQL then refuses changes of tables whose rows it cannot tell apart. */
async function newPublishedDatabase(): Promise<string> {
  const url = await newDatabase(inject('postgresUrl'))
  await runSql(url, 'CREATE PUBLICATION everything FOR ALL TABLES')
  return url
}

const openEmpty = (): Open => {
  const created = newPublishedDatabase()
  return async () => {
    const { config } = loadConfig({ DATABASE_URL: await created, TESLIM_DATABASE_TIMEOUT: '10' })
    return (await openStore(config, 0)).store
  }
}

describeStore('postgres', openEmpty(), openEmpty)
