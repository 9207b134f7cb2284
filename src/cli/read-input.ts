import { parseArgs } from 'node:util'
import { nearest } from '#src/lib/nearest.ts'
import { COMMON_OPTIONS, type Command, type Input, Misuse, type Option } from './command.ts'
import { listChoices } from './help.ts'

type Options = Readonly<Record<string, Option>>

/** Reads what was typed beside the command's name. Throws `Misuse`. */
export function readInput(command: Command, args: string[]): Input {
  const { options, values, positionals } = parse(command, args)
  for (const [name, { required, choices }] of Object.entries(options)) {
    const value = values[name]
    if (required && value === undefined) throw new Misuse(`--${name} is required`)
    if (choices && typeof value === 'string') checkChoice(`--${name}`, value, choices)
  }
  checkPositionals(command.positionals ?? [], positionals)
  return {
    positionals,
    word: positionals[0] ?? '',
    json: values.json === true,
    flag: (name) => values[name] === true,
    text: (name) => values[name] as string | undefined,
    texts: (name) => (values[name] ?? []) as string[],
  }
}

/** Reads options and positional arguments, without a look at their values. */
export function parse(command: Command, args: string[]) {
  const options = { ...command.options, ...COMMON_OPTIONS }
  const config = Object.fromEntries(
    Object.entries(options).map(([name, { value, multiple = false }]) => {
      const type = value === undefined ? ('boolean' as const) : ('string' as const)
      return [name, { type, multiple }]
    }),
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
    return { options, values, positionals }
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
  const { value } = option
  if (value === undefined) return new Misuse(`--${name} takes no value`)
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
const MIN_GUESS = 3

function checkChoice(what: string, given: string, choices: Readonly<Record<string, string>>): void {
  if (Object.hasOwn(choices, given)) return
  const words = Object.entries(choices).flat()
  const meant = given.length < MIN_GUESS ? undefined : nearest(given.toLowerCase(), words)
  const choice = Object.entries(choices).find((both) => meant !== undefined && both.includes(meant))
  const guess = choice ? `, did you mean ${listChoices(Object.fromEntries([choice]))}?` : ''
  throw new Misuse(`${what} is one of ${listChoices(choices)}, not ${JSON.stringify(given)}${guess}`)
}
