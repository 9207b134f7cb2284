import { loadConfig } from '#src/config/load-config.ts'
import { systemClock } from '#src/lib/clock.ts'
import { startServer } from '#src/server.ts'
import { openOrAwait } from '#src/store/await-store.ts'

/** Serves as `teslim serve` does, but counts nothing by hour: roll-ups.ts compares the two. */
const loaded = loadConfig(process.env)
const awaited = await openOrAwait(loaded.config, systemClock, true)
const store = { ...awaited.store, rollUps: { ...awaited.store.rollUps, count: async () => 0 } }
const { stopped } = await startServer(loaded, { ...awaited, store }, process.exit, undefined, undefined)
await stopped
await awaited.close()
