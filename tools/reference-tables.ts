import { loadCommands } from '#src/cli/command-table.ts'
import type { Setting } from '#src/config/setting-kinds.ts'
import { settings } from '#src/config/settings.ts'

const commands = await loadCommands()

/** Replaces the tables of commands and settings in docs/reference.md by those that the code describes. */
export const withReferenceTables = (page: string): string =>
  replaceBetween(replaceBetween(page, 'commands', commandTable()), 'settings', settingsTable())

function commandTable(): string {
  const rows = commands.map(({ name, positionals = [], about }) => [
    `\`${[name, ...positionals].join(' ').replaceAll('|', '\\|')}\``,
    about,
  ])
  return markdownTable(['command', 'what it does'], rows)
}

function settingsTable(): string {
  const rows = (Object.values(settings) as Setting[]).map((setting) => [
    `\`${setting.variable}\``,
    setting.default === '' ? 'none' : `\`${setting.default}\``,
    setting.allowed,
    setting.description,
  ])
  return markdownTable(['setting', 'default', 'allowed', 'what it is for'], rows)
}

const markdownTable = (heading: string[], rows: string[][]): string =>
  [heading, heading.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')

function replaceBetween(text: string, name: string, inner: string): string {
  const opening = `<!-- ${name} -->\n`
  const start = text.indexOf(opening) + opening.length
  return text.slice(0, start) + inner + text.slice(text.indexOf(`<!-- /${name} -->`) - 1)
}
