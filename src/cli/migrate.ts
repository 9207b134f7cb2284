import { maskUrlPassword } from '#src/config/setting-kinds.ts'
import { isMissing, openStore } from '#src/store/open-store.ts'
import type { Command } from './command.ts'
import { sayCreated } from './with-store.ts'

export const migrate: Command = {
  name: 'migrate',
  about: 'Create the store, or bring it to the schema of this version',
  details: '"teslim serve" brings a store to the schema by itself, but creates none in production.',
  options: {
    existing: { about: 'Create nothing: where there is no store, say so and end with status 0' },
  },
  async run(input, { loadConfig, clock, out, err }) {
    const { config } = loadConfig()
    const create = !input.flag('existing')
    const opened = await openStore(config, clock.now(), { create, withoutThreads: true }).catch((error: unknown) => {
      if (create || !isMissing(error)) throw error
      err(`teslim migrate: ${(error as Error).message}`)
    })
    await opened?.store.close()
    const applied = opened?.migrated ?? []
    const lines =
      applied.length === 0
        ? [`${maskUrlPassword(config.databaseUrl)} is up to date.`]
        : applied.map((name) => `applied ${name}`)
    if (!input.json) {
      if (opened === undefined) return undefined
      sayCreated(opened, config, out)
    }
    return { json: { applied }, text: () => lines.join('\n') }
  },
}
