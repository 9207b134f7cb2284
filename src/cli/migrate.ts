import { maskUrlPassword } from '#src/config/setting-kinds.ts'
import { isMissing, openStore } from '#src/store/open-store.ts'
import type { Command } from './command.ts'
import { sayCreated } from './with-store.ts'

export const migrate: Command = {
  name: 'migrate',
  about: 'Create the store, or bring it to the schema of this version',
  details: '"teslim serve" brings a store to the schema by itself, but creates none in production.',
  options: {
    existing: { type: 'boolean', about: 'Create nothing: where there is no store, say so and end with status 0' },
  },
  async run(input, { loadConfig, clock, out, err }) {
    const { config } = loadConfig()
    const create = !input.flag('existing')
    const opened = await openStore(config, clock.now(), { create, withoutThreads: true }).catch((error: unknown) => {
      if (create || !isMissing(error)) throw error
      err(`teslim migrate: ${(error as Error).message}`)
    })
    await opened?.store.close()
    const migrated = opened?.migrated ?? []
    if (input.json) out(JSON.stringify({ applied: migrated }))
    if (input.json || opened === undefined) return undefined
    sayCreated(opened, config, out)
    if (migrated.length === 0) out(`${maskUrlPassword(config.databaseUrl)} is up to date.`)
    else out(migrated.map((name) => `applied ${name}`).join('\n'))
    return undefined
  },
}
