import { loadConfig, type Variables } from '#src/config/load-config.ts'
import { openStore } from '#src/store/open-store.ts'
import type { Store } from '#src/store/store.ts'
import { atTheEnd } from '../at-the-end.ts'
import { tempFolder } from '../temp-folder.ts'

/** Opens a store until the end of the test or the file; without a URL an embedded one of its own. */
export async function openTestStore(
  databaseUrl = `sqlite:${tempFolder()}/teslim.db`,
  settings: Variables = {},
): Promise<Store> {
  const { store } = await openStore(loadConfig({ DATABASE_URL: databaseUrl, ...settings }).config, Date.now())
  atTheEnd(() => store.close())
  return store
}
