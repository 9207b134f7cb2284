import { parseArgs } from 'node:util'
import { ConfigError } from '#src/config/load-config.ts'
import { AppError } from '#src/lib/app-error.ts'
import { folderOfAnother } from '#src/lib/folder-of-another.ts'
import { nearest } from '#src/lib/nearest.ts'
import { escaped, shellWord } from '#src/lib/printable.ts'
import { storeErrors } from '#src/store/store.errors.ts'
import { type CliContext, COMMON_OPTIONS, type Command, type Input, Misuse, type Option } from './command.ts'
import { commandNames, loadCommand, loadGroups } from './command-table.ts'
import { helpOn, listChoices, overview } from './help.ts'
import { wrapWords } from './output/wrap-words.ts'

const HELP = ['--help', '-h']

type Options = Readonly<Record<string, Option>>

/** Runs what was typed and resolves to the exit status: 0 done, 1 failed, 2 misuse. */
export async function runCli(argv: readonly string[], context: CliContext): Promise<number> {
  if (argv.length === 0) {
    context.err(overview(await loadGroups(), context.columns))
    return 2
  }
  let name = 'teslim'
  try {
    const asked = await helpAskedFor(argv, context)
    if (asked !== undefined) {
      context.out(asked)
      return 0
    }
    const { command, rest } = await findCommand(argv[0] === '--version' ? ['version', ...argv.slice(1)] : argv)
    name = `teslim ${command.name}`
    const options = { ...command.options, ...COMMON_OPTIONS }
    const input = readInput(command, options, rest)
    return (await command.run(input, guarded(context, input.json))) ?? 0
  } catch (error) {
    return report(error, name, argv, guarded(context, false))
  }
}

/**
 * What others sent or named must not control the reader's terminal, or hide: such characters are escaped in text for people, and in
 * everything that goes to a terminal. Programs get JSON and bytes unchanged.
 */
function guarded(context: CliContext, json: boolean): CliContext {
  const { columns, out, outBytes, err } = context
  const onTerminal = columns !== undefined
  return {
    ...context,
    out: json && !onTerminal ? out : (text) => out(escaped(text)),
    outBytes: onTerminal ? (bytes) => outBytes(Buffer.from(escaped(Buffer.from(bytes).toString()))) : outBytes,
    err: (text) => err(escaped(text)),
  }
}

/** The help that `--help` or a group's bare name asks for. What stands after `--` is no option. */
async function helpAskedFor(argv: readonly string[], { columns }: CliContext): Promise<string | undefined> {
  const words = argv.includes('--') ? argv.slice(0, argv.indexOf('--')) : argv
  const asks = words.some((word) => HELP.includes(word))
  const named = words.filter((word) => !word.startsWith('-'))
  const [first = '', second = ''] = named
  if (asks) {
    const both = `${first} ${second}`.trim()
    const groups = await loadGroups()
    const help = helpOn(named.slice(0, MAX_WORDS).join(' '), groups, columns) ?? helpOn(both, groups, columns)
    if (help !== undefined) return help
    if (commandNames.includes(first)) return helpOn(first, groups, columns)
    throw noCommand(both)
  }
  const group = argv.join(' ')
  const isGroup = !commandNames.includes(group) && commandNames.some((name) => name.startsWith(`${group} `))
  return isGroup ? helpOn(group, await loadGroups(), columns) : undefined
}

/** The longest name: `delivery refused list`. */
const MAX_WORDS = 3

async function findCommand(argv: readonly string[]): Promise<{ command: Command; rest: string[] }> {
  const option = argv.findIndex((word) => word.startsWith('-'))
  const words = argv.slice(0, option < 0 ? MAX_WORDS : Math.min(option, MAX_WORDS))
  for (let count = words.length; count > 0; count--) {
    const command = await loadCommand(words.slice(0, count).join(' '))
    if (command) return { command, rest: argv.slice(count) }
  }
  const [first = '', second] = words
  const isGroup = commandNames.some((name) => name.startsWith(`${first} ${second} `))
  throw noCommand(isGroup ? words.join(' ') : [first, second].join(' ').trim())
}

function noCommand(typed: string): Misuse {
  const meant = nearest(
    typed,
    commandNames.flatMap((name) => [name, name.split(' ', 1).join()]),
  )
  return new Misuse(`there is no command ${JSON.stringify(typed)}${meant ? `, did you mean "${meant}"?` : ''}`)
}

function readInput(command: Command, options: Options, args: string[]): Input {
  const { values, positionals } = parse(options, args)
  for (const [name, { required, choices }] of Object.entries(options)) {
    const value = values[name]
    if (required && value === undefined) throw new Misuse(`--${name} is required`)
    if (choices && typeof value === 'string') checkChoice(`--${name}`, value, choices)
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

function parse(options: Options, args: string[]) {
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
    throw error instanceof Misuse ? error : misuseOf(error as NodeJS.ErrnoException, options)
  }
}

/** Says in our words what Node's parser refuses. */
function misuseOf({ code, message }: NodeJS.ErrnoException, options: Options): Misuse {
  const [, typed = '', name = ''] = /'(--?([^' =]*))/.exec(message) ?? []
  if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') {
    const meant = nearest(name, Object.keys(options))
    return new Misuse(`there is no option ${typed}${meant ? `, did you mean --${meant}?` : ''}`)
  }
  const option = options[name]
  if (option === undefined) return new Misuse(message.split(/\. |\.?\n/, 1)[0] ?? message)
  if (option.type === 'boolean') return new Misuse(`--${name} takes no value`)
  const value = option.value ?? (Object.keys(option.choices ?? {}).join('|') || 'VALUE')
  const hint = message.includes('ambiguous') ? `; one that begins with a dash is written --${name}=-...` : ''
  return new Misuse(`--${name} needs a value: --${name} ${value}${hint}`)
}

function checkPositionals(expected: readonly string[], given: readonly string[]): void {
  const missing = expected[given.length]
  if (missing !== undefined && !missing.startsWith('[')) throw new Misuse(`${missing} is missing`)
  const open = expected.at(-1)?.includes('...')
  if (!open && given.length > expected.length)
    throw new Misuse(`${JSON.stringify(given[expected.length])} is one word too many`)
  for (const [index, name] of expected.entries()) {
    const choices = Object.fromEntries(name.split('|').map((choice) => [choice, '']))
    if (name.includes('|')) checkChoice('the argument', given[index] ?? '', choices)
  }
}

/** A single character is no typing error of another one. */
const SHORTEST_GUESS = 3

function checkChoice(what: string, given: string, choices: Readonly<Record<string, string>>): void {
  if (Object.hasOwn(choices, given)) return
  const words = Object.entries(choices).flat()
  const meant = given.length < SHORTEST_GUESS ? undefined : nearest(given.toLowerCase(), words)
  const choice = Object.entries(choices).find((both) => meant !== undefined && both.includes(meant))
  const guess = choice ? `, did you mean ${listChoices(Object.fromEntries([choice]))}?` : ''
  throw new Misuse(`${what} is one of ${listChoices(choices)}, not ${JSON.stringify(given)}${guess}`)
}

/** Says why the store cannot be used: its own message is for callers of the API. */
function operatorMessage({ code, message, details: { reason } }: AppError, argv: readonly string[]): string {
  if (code === folderOfAnother.code && reason)
    return `${message} Run it as that user: ${reason} teslim ${argv.map(shellWord).join(' ')}`
  if (code === storeErrors.unavailable.code && reason)
    return `the store cannot be used: ${reason}. Once that is resolved, run the command again.`
  return `${message}${reason ? ` (${reason})` : ''}`
}

function report(error: unknown, name: string, argv: readonly string[], context: CliContext): number {
  const { err, columns = Number.POSITIVE_INFINITY } = context
  const say = (text: string): void => err(wrapWords(text, columns).join('\n'))
  if (error instanceof Misuse) {
    say(`${name}: ${error.message} (see ${name === 'teslim help' ? name : `${name} --help`})`)
    return 2
  }
  if (error instanceof ConfigError) {
    for (const problem of error.problems) say(`teslim: ${problem}`)
    return 2
  }
  if (error instanceof AppError) {
    say(`${name}: ${operatorMessage(error, argv)}`)
    return error.kind === 'invalid' ? 2 : 1
  }
  err(`${name}: unexpected fault, please report it: ${error instanceof Error ? error.stack : String(error)}`)
  return 1
}
