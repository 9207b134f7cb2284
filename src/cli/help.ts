import type { Command, Option } from './command.ts'

export function overview(commands: readonly Command[]): string {
  const rows = commands.map((command) => [usage(command), command.about] as const)
  return `Usage: teslim COMMAND

${columns(rows)}

Every command takes --help, and --json for machines. Settings come from the environment and .env: see teslim config.
Exit status: 0 done, 1 failed, 2 wrong command line or settings.`
}

export function commandHelp(command: Command, options: Readonly<Record<string, Option>>): string {
  const rows = Object.entries(options).map(([name, option]) => [`--${name}${value(option)}`, note(option)] as const)
  return `Usage: teslim ${usage(command)} [OPTIONS]

${command.about}.

${columns(rows)}`
}

const usage = ({ name, positionals = [] }: Command): string => [name, ...positionals].join(' ')

const value = ({ value }: Option): string => (value === undefined ? '' : ` ${value}`)

const note = ({ about, required, multiple }: Option): string =>
  `${about}${required ? ' (required)' : ''}${multiple ? ' (repeatable)' : ''}`

function columns(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join('\n')
}
