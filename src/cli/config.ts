import { describeConfig } from '#src/config/describe-config.ts'
import type { Command } from './command.ts'
import { table } from './output/table.ts'

export const config: Command = {
  name: 'config',
  about: 'Show the effective settings and where each comes from, secrets masked',
  async run({ json }, { loadConfig, out }) {
    const settings = describeConfig(loadConfig())
    if (json) out(JSON.stringify(settings))
    else
      out(
        table(
          ['setting', 'value', 'source'],
          settings.map((row) => [row.variable, String(row.value), row.source]),
        ),
      )
  },
}
