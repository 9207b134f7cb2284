import { maskUrlPassword } from '#src/config/settings.ts'
import { openStore } from '#src/store/open-store.ts'
import type { Command } from './command.ts'

export const migrate: Command = {
  name: 'migrate',
  about: 'Bring the store to the schema of this version; serve does it by itself',
  async run({ json }, { loadConfig, clock, out }) {
    const { config } = loadConfig()
    const { store, migrated } = await openStore(config, clock.now())
    await store.close()
    if (json) out(JSON.stringify({ applied: migrated }))
    else if (migrated.length === 0) out(`${maskUrlPassword(config.databaseUrl)} is up to date.`)
    else out(migrated.map((name) => `applied ${name}`).join('\n'))
  },
}
