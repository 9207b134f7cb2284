import { inject } from 'vitest'
import { loadConfig } from '#src/config/load-config.ts'
import { openStore } from '#src/store/open-store.ts'
import { newDatabase } from '../support/postgres-server.ts'
import { describeStore } from './store-conformance.ts'

const databaseUrl = await newDatabase(inject('postgresUrl'))
const { config } = loadConfig({ DATABASE_URL: databaseUrl, TESLIM_DATABASE_TIMEOUT: '10' })

describeStore('postgres', async () => (await openStore(config, 0)).store)
