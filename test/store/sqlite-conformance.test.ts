import { join } from 'node:path'
import { loadConfig } from '#src/config/load-config.ts'
import { openStore } from '#src/store/open-store.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { describeStore } from './store-conformance.ts'

const { config } = loadConfig({ DATABASE_URL: `sqlite:${join(tempFolder(), 'conformance.db')}` })

describeStore('sqlite', async () => (await openStore(config, 0)).store)
