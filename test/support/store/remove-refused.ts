import { loadConfig } from '#src/config/load-config.ts'
import { openStore } from '#src/store/open-store.ts'

/** Removes the refused bodies that came first while there are more than so many bytes, as a server does for which that is the limit. */
const [DATABASE_URL = '', maxBytes] = process.argv.slice(2)
const { store } = await openStore(loadConfig({ DATABASE_URL }).config, 0, { withoutThreads: true })
while ((await store.refused.keep([], { maxBytes: Number(maxBytes), notKept: 0 })) > 0);
await store.close()
