import { maskUrlPassword } from '#src/config/setting-kinds.ts'
import { openStore } from '#src/store/open-store.ts'
import type { Command } from './command.ts'
import { sayCreated } from './with-store.ts'

export const migrate: Command = {
  name: 'migrate',
  about: 'Create the store, or bring it to the schema of this version',
  details: '"teslim serve" does this by itself.',
  async run({ json }, { loadConfig, clock, out }) {
    const { config } = loadConfig()
    const opened = await openStore(config, clock.now(), { withoutThreads: true })
    await opened.store.close()
    const { migrated } = opened
    if (json) {
      out(JSON.stringify({ applied: migrated }))
      return
    }
    sayCreated(opened, config, out)
    if (migrated.length === 0) out(`${maskUrlPassword(config.databaseUrl)} is up to date.`)
    else out(migrated.map((name) => `applied ${name}`).join('\n'))
  },
}
