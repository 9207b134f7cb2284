import { COMMON_OPTIONS, type Command, type CommandGroup, Misuse, type Option } from './command.ts'
import { definitions } from './output/table.ts'
import { wrapWords } from './output/wrap-words.ts'

/** Characters in a line where there is no terminal to ask. */
const DEFAULT_WIDTH = 80

type Width = number | undefined

/** The `help` command. The groups come as a function because it is one of them. */
export const createHelp = (loadGroups: () => Promise<readonly CommandGroup[]>): Command => ({
  name: 'help',
  about: 'Show this help, or that of a command or a group of commands',
  positionals: ['[COMMAND...]'],
  async run({ positionals }, { columns }) {
    const topic = positionals.join(' ')
    const text = helpOn(topic, await loadGroups(), columns)
    if (text === undefined) throw new Misuse(`there is no help on ${JSON.stringify(topic)}`)
    return { json: { help: text }, text: () => text }
  },
})

/** Help on everything (no topic), a group or a command; undefined for anything else. */
export function helpOn(topic: string, groups: readonly CommandGroup[], width: Width): string | undefined {
  if (topic === '') return overview(groups, width)
  const commands = groups.flatMap((group) => group.commands)
  const command = commands.find(({ name }) => name === topic)
  if (command) return commandHelp(command, width)
  const members = commands.filter(({ name }) => name.startsWith(`${topic} `))
  return members.length > 0 ? groupHelp(topic, members, width) : undefined
}

export function overview(groups: readonly CommandGroup[], width: Width = DEFAULT_WIDTH): string {
  const longest = Math.max(...groups.flatMap(({ commands }) => commands.map(({ name }) => name.length)))
  const sections = groups.map(({ title, commands }) => {
    const rows = commands.map(({ name, about }) => [name.padEnd(longest), about] as const)
    return `${title}\n${definitions(rows, width)}`
  })
  return [
    'Usage: teslim COMMAND [OPTIONS]',
    ...sections,
    paragraph(
      '"teslim help COMMAND" shows the options of a command. Every command takes --json, which prints one JSON value, and --utc: times are local on a terminal, and in UTC elsewhere. Settings come from the environment and .env: see "teslim config".',
      width,
    ),
    paragraph('Exit status: 0 done, 1 failed, 2 wrong command line or settings.', width),
  ].join('\n\n')
}

function groupHelp(group: string, commands: readonly Command[], width: Width = DEFAULT_WIDTH): string {
  const rows = commands.map((command) => [usage(command), command.about] as const)
  return [
    `Usage: teslim ${group} COMMAND [OPTIONS]`,
    definitions(rows, width),
    `"teslim help ${group} COMMAND" shows the options of a command.`,
  ].join('\n\n')
}

function commandHelp(command: Command, width: Width = DEFAULT_WIDTH): string {
  const rows = Object.entries({ ...command.options, ...COMMON_OPTIONS }).map(
    ([name, option]) => [`--${name}${option.value === undefined ? '' : ` ${option.value}`}`, note(option)] as const,
  )
  return [
    `Usage: teslim ${usage(command)} [OPTIONS]`,
    paragraph([`${command.about}.`, ...(command.details ? [command.details] : [])].join(' '), width),
    definitions(rows, width),
  ].join('\n\n')
}

const paragraph = (text: string, width: number): string => wrapWords(text, width).join('\n')

const usage = ({ name, positionals = [] }: Command): string => [name, ...positionals].join(' ')

const note = ({ about, required, multiple, choices }: Option): string =>
  `${about}${choices ? `: ${listChoices(choices)}` : ''}${required ? ' (required)' : ''}${multiple ? ' (repeatable)' : ''}`

/** `0 (canceled), 1 (updated)`. */
export const listChoices = (choices: Readonly<Record<string, string>>): string =>
  Object.entries(choices)
    .map(([value, meaning]) => (meaning === '' ? value : `${value} (${meaning})`))
    .join(', ')
