import { join } from 'node:path'
import { loadConfig } from '#src/config/load-config.ts'
import { openStore } from '#src/store/open-store.ts'

/** Creates an empty store where `teslim` looks for it when it runs in this folder. */
export async function createStore(cwd: string): Promise<void> {
  const { config } = loadConfig({ DATABASE_URL: `sqlite:${join(cwd, 'data/teslim.db')}` })
  await (await openStore(config, 0)).store.close()
}
