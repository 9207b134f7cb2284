import { inject } from 'vitest'
import { loadConfig } from '#src/config/load-config.ts'
import { openStore } from '#src/store/open-store.ts'
import { newDatabase } from '../support/postgres-server.ts'
import { describeStore } from './store-conformance.ts'

const at = (url: string) => loadConfig({ DATABASE_URL: url }).config

const url = await newDatabase(inject('postgresUrl'))

describeStore('postgres', async () => (await openStore(at(url), 0)).store)
