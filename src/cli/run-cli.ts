import { ConfigError } from '#src/config/load-config.ts'
import { AppError } from '#src/lib/app-error.ts'
import { folderOfAnother } from '#src/lib/folder-of-another.ts'
import { textOf } from '#src/lib/messages/message.ts'
import { escaped, shellWord } from '#src/lib/printable.ts'
import { storeErrors } from '#src/store/store.errors.ts'
import { type Input, Misuse, type ProcessContext } from './command.ts'
import { commandNames, loadGroups } from './command-table.ts'
import { beforeDashes, findCommand, isGroup, misuseWithoutCommand, noCommand, wordsOf } from './find-command.ts'
import { helpOn, overview } from './help.ts'
import { localTimes, type Times, utcTimes } from './output/times.ts'
import { wrapWords } from './output/wrap-words.ts'
import { readInput } from './read-input.ts'

const HELP = ['--help', '-h']
const VERSION = ['--version', '-v', '-V']

/** Runs what was typed and resolves to the exit status: 0 done, 1 failed, 2 misuse. */
export async function runCli(argv: readonly string[], context: ProcessContext): Promise<number> {
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
    const found = (await findCommand(argv)) ?? (await findCommand(withVersion(argv)))
    if (found === undefined) throw misuseWithoutCommand(argv)
    const { command, rest } = found
    name = `teslim ${command.name}`
    const input = readInput(command, rest)
    let least = 0
    const guard = guarded(context, input.json)
    const failed = (why: string): void => {
      guard.err(`teslim: ${why}`)
      least = 1
    }
    const done = await command.run(input, { ...guard, times: timesFor(input, context), failed })
    if (typeof done !== 'object') return done || least
    guard.out(input.json ? JSON.stringify(done.json) : done.text())
    return done.status || least
  } catch (error) {
    return report(error, name, argv, guarded(context, false))
  }
}

const withVersion = (argv: readonly string[]): string[] =>
  argv.map((word) => (VERSION.includes(word) ? 'version' : word))

/** Local times are for people who look at a terminal. */
const timesFor = (input: Input, { columns }: ProcessContext): Times =>
  columns === undefined || input.json || input.flag('utc') ? utcTimes : localTimes

/**
 * What others sent or named must not control the reader's terminal, or hide: such characters are escaped in text for people, and in
 * everything that goes to a terminal. Programs get JSON and bytes unchanged.
 */
function guarded(context: ProcessContext, json: boolean): ProcessContext {
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
async function helpAskedFor(argv: readonly string[], { columns }: ProcessContext): Promise<string | undefined> {
  const words = beforeDashes(argv)
  if (words.some((word) => HELP.includes(word))) {
    const others = words.filter((word) => !HELP.includes(word))
    const found = await findCommand(others)
    const topic = found?.command.name ?? wordsOf(others).slice(0, 2).join(' ')
    const help = helpOn(topic, await loadGroups(), columns)
    if (help === undefined) throw noCommand(topic)
    return help
  }
  const group = argv.join(' ')
  return isGroup(group) && !commandNames.includes(group) ? helpOn(group, await loadGroups(), columns) : undefined
}

/** Says why the store cannot be used: its own message is for callers of the API. */
function operatorMessage({ code, message, details }: AppError, argv: readonly string[]): string {
  const reason: string | undefined = details.reason && textOf(details.reason)
  if (code === folderOfAnother.code && reason)
    return `${message} Run it as that user: ${reason} teslim ${argv.map(shellWord).join(' ')}`
  if (code === storeErrors.unavailable.code && reason)
    return `the store cannot be used: ${reason}. Once that is resolved, run the command again.`
  return `${message}${reason ? ` (${reason})` : ''}`
}

interface Fault {
  readonly status: 1 | 2
  readonly errorCode: string
  readonly messages: readonly string[]
}

function faultOf(error: unknown, name: string, argv: readonly string[]): Fault {
  if (error instanceof Misuse) {
    const help = name === 'teslim help' ? name : `${name} --help`
    return { status: 2, errorCode: 'MISUSE', messages: [`${error.message} (see ${help})`] }
  }
  if (error instanceof ConfigError) return { status: 2, errorCode: 'SETTINGS_INVALID', messages: error.problems }
  if (error instanceof AppError)
    return { status: error.kind === 'invalid' ? 2 : 1, errorCode: error.code, messages: [operatorMessage(error, argv)] }
  const what = error instanceof Error ? error.stack : String(error)
  return { status: 1, errorCode: 'UNEXPECTED_FAULT', messages: [`unexpected fault, please report it: ${what}`] }
}

/** Says on stderr why a command failed: in words, or with --json as one JSON value. */
function report(error: unknown, name: string, argv: readonly string[], { err, columns }: ProcessContext): number {
  const { status, errorCode, messages } = faultOf(error, name, argv)
  if (beforeDashes(argv).includes('--json')) {
    err(JSON.stringify({ errorCode, message: messages.join('\n') }))
    return status
  }
  const width = columns ?? Number.POSITIVE_INFINITY
  const who = error instanceof ConfigError ? 'teslim' : name
  for (const message of messages) err(wrapWords(`${who}: ${message}`, width).join('\n'))
  return status
}
