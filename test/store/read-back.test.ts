import { join } from 'node:path'
import { inject } from 'vitest'
import { loadConfig } from '#src/config/load-config.ts'
import { openStore } from '#src/store/open-store.ts'
import { newDatabase } from '../support/postgres-server.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { describeReading } from './read-back-conformance.ts'

const open = (databaseUrl: string) => async () =>
  (await openStore(loadConfig({ DATABASE_URL: databaseUrl }).config, 0)).store

describeReading('sqlite', open(`sqlite:${join(tempFolder(), 'reading.db')}`))
describeReading('postgres', open(await newDatabase(inject('postgresUrl'))))
