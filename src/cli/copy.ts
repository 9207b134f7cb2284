import { maskUrlPassword } from '#src/config/settings.ts'
import { copyStore } from '#src/store/copy/copy-store.ts'
import { type Command, Misuse } from './command.ts'
import { table } from './output/table.ts'

export const copy: Command = {
  name: 'copy',
  about: 'Copy the embedded store into an empty PostgreSQL database, and compare the two; run again, it goes on',
  options: {
    to: { type: 'string', value: 'URL', required: true, about: 'The database: postgres://USER:PASSWORD@HOST/NAME' },
  },
  async run(input, { loadConfig, clock, out, progress }) {
    const { config } = loadConfig()
    const to = input.text('to') ?? ''
    if (!/^postgres(?:ql)?:\/\/.+/.test(to))
      throw new Misuse('--to must be the URL of a PostgreSQL database: postgres://USER:PASSWORD@HOST/NAME')
    if (!config.databaseUrl.startsWith('sqlite:'))
      throw new Misuse('DATABASE_URL must name the embedded store that is to be copied')
    const copied = await copyStore({
      from: config,
      to,
      now: clock.now(),
      onProgress: (name, done, all) => progress(`${name}: ${done.toLocaleString('en')} of ${all.toLocaleString('en')}`),
    })
    progress('')
    if (input.json) {
      out(JSON.stringify({ tables: copied }))
      return
    }
    out(
      table(
        ['table', 'rows', 'SHA-256 on both sides'],
        copied.map(({ name, rows, sha256 }) => [name, `${rows}`, sha256]),
      ),
    )
    out(`\nEqual. From now on: DATABASE_URL=${maskUrlPassword(to)}`)
  },
}
