import { parseArgs } from 'node:util'
import { ConfigError } from '#src/config/load-config.ts'
import { AppError } from '#src/lib/app-error.ts'
import { nearest } from '#src/lib/nearest.ts'
import { storeErrors } from '#src/store/store.errors.ts'
import { type CliContext, type Command, type Input, Misuse, type Option } from './command.ts'
import { commands } from './command-table.ts'
import { commandHelp, overview } from './help.ts'

const COMMON: Record<string, Option> = {
  json: { type: 'boolean', about: 'One JSON value on stdout and nothing else' },
  help: { type: 'boolean', about: 'Show this help' },
}

const HELP = new Set(['--help', '-h'])

/** Runs what was typed and resolves to the exit status: 0 done, 1 failed, 2 misuse. */
export async function runCli(argv: readonly string[], context: CliContext): Promise<number> {
  if (argv.length === 0) {
    context.err(overview(commands))
    return 2
  }
  if (HELP.has(argv[0] ?? '')) {
    context.out(overview(commands))
    return 0
  }
  let name = 'teslim'
  try {
    const { command, rest } = findCommand(argv)
    name = `teslim ${command.name}`
    const options = { ...command.options, ...COMMON }
    const beforeDashes = rest.includes('--') ? rest.slice(0, rest.indexOf('--')) : rest
    if (beforeDashes.some((word) => HELP.has(word))) {
      context.out(commandHelp(command, options))
      return 0
    }
    return (await command.run(readInput(command, options, rest), context)) ?? 0
  } catch (error) {
    return report(error, name, context)
  }
}

function findCommand(argv: readonly string[]): { command: Command; rest: string[] } {
  const [first = '', second] = argv
  const typed = second === undefined || second.startsWith('-') ? first : `${first} ${second}`
  const command = commands.find(({ name }) => name === typed) ?? commands.find(({ name }) => name === first)
  if (command) return { command, rest: argv.slice(command.name.split(' ').length) }
  const family = commands.filter(({ name }) => name.startsWith(`${first} `)).map(({ name }) => name)
  if (family.length > 0 && (typed === first || HELP.has(second ?? '')))
    throw new Misuse(`"${first}" needs one more word: ${family.join(', ')}`)
  const names = commands.map(({ name }) => name)
  const meant = nearest(typed, names)
  throw new Misuse(`there is no command ${JSON.stringify(typed)}${meant ? `, did you mean "${meant}"?` : ''}`)
}

function readInput(command: Command, options: Record<string, Option>, args: string[]): Input {
  const { values, positionals } = parse(options, args)
  for (const [name, { required }] of Object.entries(options)) {
    if (required && values[name] === undefined) throw new Misuse(`--${name} is required`)
  }
  checkPositionals(command.positionals ?? [], positionals)
  return {
    positionals,
    json: values.json === true,
    flag: (name) => values[name] === true,
    text: (name) => values[name] as string | undefined,
    texts: (name) => (values[name] ?? []) as string[],
  }
}

function parse(options: Record<string, Option>, args: string[]) {
  const config = Object.fromEntries(
    Object.entries(options).map(([name, { type, multiple = false }]) => [name, { type, multiple }]),
  )
  try {
    const { values, positionals, tokens } = parseArgs({
      args,
      options: config,
      allowPositionals: true,
      strict: true,
      tokens: true,
    })
    const given = tokens.filter((token) => token.kind === 'option').map(({ name }) => name)
    const repeated = given.find((name, index) => !options[name]?.multiple && given.indexOf(name) !== index)
    if (repeated) throw new Misuse(`--${repeated} is given twice`)
    return { values, positionals }
  } catch (error) {
    if (error instanceof Misuse) throw error
    const { code, message } = error as NodeJS.ErrnoException
    const unknown = code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION' ? /'(-[^']*)'/.exec(message)?.[1] : undefined
    if (unknown === undefined) throw new Misuse(message.split(/\. |\.?\n/, 1)[0] ?? message)
    const meant = nearest(unknown.replace(/^-+/, ''), Object.keys(options))
    throw new Misuse(`there is no option ${unknown}${meant ? `, did you mean --${meant}?` : ''}`)
  }
}

function checkPositionals(expected: readonly string[], given: readonly string[]): void {
  const missing = expected[given.length]
  if (missing !== undefined) throw new Misuse(`${missing} is missing`)
  const open = expected.at(-1)?.endsWith('...')
  if (!open && given.length > expected.length)
    throw new Misuse(`${JSON.stringify(given[expected.length])} is one word too many`)
}

/** The store's own message is for those who call the API. */
function operatorMessage({ code, message, details: { reason } }: AppError): string {
  if (code === storeErrors.unavailable.code && reason)
    return `the store cannot be used: ${reason}. Once that is mended, run the command again.`
  return `${message}${reason ? ` (${reason})` : ''}`
}

function report(error: unknown, name: string, { err }: CliContext): number {
  if (error instanceof Misuse) {
    err(`${name}: ${error.message} (see ${name} --help)`)
    return 2
  }
  if (error instanceof ConfigError) {
    for (const problem of error.problems) err(`teslim: ${problem}`)
    return 2
  }
  if (error instanceof AppError) {
    err(`${name}: ${operatorMessage(error)}`)
    return error.kind === 'invalid' ? 2 : 1
  }
  err(`${name}: unexpected fault, please report it: ${error instanceof Error ? error.stack : String(error)}`)
  return 1
}
