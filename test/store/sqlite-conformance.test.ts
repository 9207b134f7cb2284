import { join } from 'node:path'
import { loadConfig } from '#src/config/load-config.ts'
import { openStore } from '#src/store/open-store.ts'
import { tempFolder } from '../support/temp-folder.ts'
import type { Open } from './conformance/promises.ts'
import { describeStore } from './store-conformance.ts'

const openEmpty = (): Open => {
  const { config } = loadConfig({ DATABASE_URL: `sqlite:${join(tempFolder(), 'conformance.db')}` })
  return async () => (await openStore(config, 0)).store
}

describeStore('sqlite', openEmpty(), openEmpty)
