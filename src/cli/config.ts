import { describeConfig } from '#src/config/describe-config.ts'
import type { Command } from './command.ts'
import { table } from './output/table.ts'

export const config: Command = {
  name: 'config',
  about: 'Show the settings in effect and their sources, secrets masked',
  async run(_input, { loadConfig, columns }) {
    const settings = describeConfig(loadConfig())
    const rows = settings.map(({ variable, source, value }) => [variable, source, shown(variable, String(value))])
    return { json: settings, text: () => table(['setting', 'source', 'value'], rows, columns) }
  },
}

/** A list of JSON Pointers may have spaces after its commas, where its lines can break. */
const shown = (variable: string, value: string): string =>
  (variable.endsWith('_POINTERS') ? value.replaceAll(',', ', ') : value) || 'none'
