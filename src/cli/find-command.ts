import { nearest } from '#src/lib/nearest.ts'
import { COMMON_OPTIONS, type Command, Misuse } from './command.ts'
import { commandNames, loadCommand } from './command-table.ts'
import { parse } from './read-input.ts'

/** The longest name: `delivery refused list`. */
const MAX_WORDS = 3

const isOption = (word: string): boolean => word.startsWith('-')

/** The words that are neither options nor behind `--`. */
export const wordsOf = (argv: readonly string[]): string[] => beforeDashes(argv).filter((word) => !isOption(word))

export const beforeDashes = (argv: readonly string[]): readonly string[] =>
  argv.includes('--') ? argv.slice(0, argv.indexOf('--')) : argv

/** Whether names of commands begin with these words. */
export const isGroup = (words: string): boolean => commandNames.some((name) => name.startsWith(`${words} `))

interface Found {
  readonly command: Command
  /** What was typed beside the command's name. */
  readonly rest: string[]
}

/**
 * Finds the command. Options may stand before it, and a value may spell a command: in `--label purge key set KEYID` the command is
 * the first one to which all that stands before belongs.
 */
export async function findCommand(argv: readonly string[]): Promise<Found | undefined> {
  const starts = isOption(argv[0] ?? '') ? [...beforeDashes(argv).keys()] : [0]
  let misread: Found | undefined
  for (const start of starts) {
    const found = await commandAt(argv, start)
    if (found === undefined) continue
    const before = argv.slice(0, start)
    try {
      if (parse(found.command, before).positionals.length === 0) return found
    } catch {
      // Reading these options says what is wrong with them.
      misread ??= { command: found.command, rest: before }
    }
  }
  return misread
}

async function commandAt(argv: readonly string[], start: number): Promise<Found | undefined> {
  const following = argv.slice(start, start + MAX_WORDS)
  const option = following.findIndex(isOption)
  for (let count = option < 0 ? following.length : option; count > 0; count--) {
    const command = await loadCommand(following.slice(0, count).join(' '))
    if (command) return { command, rest: [...argv.slice(0, start), ...argv.slice(start + count)] }
  }
  return undefined
}

export function misuseWithoutCommand(argv: readonly string[]): Misuse {
  const words = wordsOf(argv).slice(0, MAX_WORDS)
  const [first, second] = words
  if (first === undefined) return optionAlone(argv[0] ?? '')
  const typed = words.join(' ')
  if (isGroup(typed)) return new Misuse(`a command is missing: teslim ${typed} COMMAND`)
  return noCommand(isGroup(`${first} ${second}`) ? typed : words.slice(0, 2).join(' '))
}

function optionAlone(option: string): Misuse {
  const name = option.replace(/^--?/, '')
  const known = [...Object.keys(COMMON_OPTIONS), 'version']
  if (known.includes(name)) return new Misuse(`a command is missing: teslim ${option} COMMAND`)
  const meant = nearest(name, known)
  return new Misuse(`there is no option ${option} without a command${meant ? `, did you mean --${meant}?` : ''}`)
}

export function noCommand(typed: string): Misuse {
  const meant = nearest(
    typed,
    commandNames.flatMap((name) => [name, name.split(' ', 1).join()]),
  )
  return new Misuse(`there is no command ${JSON.stringify(typed)}${meant ? `, did you mean "${meant}"?` : ''}`)
}
