import type { Readable } from 'node:stream'
import type { LoadedConfig } from '#src/config/load-config.ts'
import type { Clock } from '#src/lib/clock.ts'
import type { Random } from '#src/lib/random.ts'
import type { AwaitedStore } from '#src/store/await-store.ts'
import type { OpenedStore } from '#src/store/open-store.ts'
import type { Times } from './output/times.ts'

export interface Option {
  /** Names the value in the help. An option without one is on or off. */
  readonly value?: string
  readonly multiple?: boolean
  readonly required?: boolean
  /** Every value allowed, with its meaning where it does not speak for itself. */
  readonly choices?: Readonly<Record<string, string>>
  readonly about: string
}

export interface Command {
  /** The words to type: `customer add`. */
  readonly name: string
  /** One short line for lists of commands. */
  readonly about: string
  /** More sentences, for the command's own help. */
  readonly details?: string
  /** Positional arguments: `KEYID`, `bash|zsh|fish`, `[COMMAND...]` (optional); the last may be `RULE...`, one or more. */
  readonly positionals?: readonly string[]
  readonly options?: Readonly<Record<string, Option>>
  /** Resolves to what is to be printed, or if it has printed that itself to the exit status; nothing is 0. */
  run(input: Input, context: CliContext): Promise<Printed | number | undefined>
}

/** What a command prints: one value with --json, a text without. */
export interface Printed {
  readonly json: unknown
  text(): string
  /** The exit status; 0 if not given. */
  readonly status?: number
}

/** Commands that stand together in the help. */
export interface CommandGroup {
  readonly title: string
  readonly commands: readonly Command[]
}

/** The options of every command. */
export const COMMON_OPTIONS: Readonly<Record<string, Option>> = {
  json: { about: 'Print one JSON value on stdout and nothing else; an error is one, as the last line of stderr' },
  utc: { about: 'Print times in UTC also on a terminal, and read times without an offset as UTC' },
  help: { about: 'Show this help' },
}

/** The words that were typed after the command's name. */
export interface Input {
  readonly positionals: readonly string[]
  /** The first of them, empty if there is none. */
  readonly word: string
  readonly json: boolean
  flag(name: string): boolean
  text(name: string): string | undefined
  texts(name: string): string[]
}

/** What the process gives to a command. */
export interface ProcessContext {
  readonly stdin: Readable & { readonly isTTY?: boolean }
  readonly clock: Clock
  wait(milliseconds: number): Promise<void>
  readonly random: Random
  /** Characters in a line of the terminal; undefined where there is none. */
  readonly columns: number | undefined
  /** The user at the keyboard, for the audit log. */
  actor(): string
  out(text: string): void
  /** Writes data for programs, without a newline: unchanged unless on a terminal. */
  outBytes(bytes: Uint8Array): void
  err(text: string): void
  /** Whether stdout and stderr are one file or pipe, as after `2>&1`. */
  sharesOutput(): boolean
  /** Replaces the progress shown before, on a terminal; does nothing elsewhere. */
  progress(text: string): void
  /** Leaves the processor to servers on this machine. Threads that start later do so, too. */
  yieldToServers(): void
  /** Returns a signal that the first SIGTERM or SIGINT aborts. The second one ends the process. */
  stopSignal(): AbortSignal
  loadConfig(): LoadedConfig
  startServer(loaded: LoadedConfig, awaited: AwaitedStore): Promise<RunningServer>
}

export interface CliContext extends ProcessContext {
  readonly times: Times
  /** Says on stderr what went wrong beside what is done: the command goes on, and its exit status is 1 at least. */
  failed(why: string): void
}

export interface RunningServer {
  /** Where it can be reached from this machine. */
  readonly url: string
  /** The options that curl needs besides that address, with a space before. */
  readonly curlOptions: string
  /** Undefined if it was told to stop before there was a store. */
  readonly opened: OpenedStore | undefined
  inform(message: string): void
  warn(message: string): void
  /** Logs why the server cannot go on, and stops it with status 1. */
  fail(reason: string): void
  /** Stops it as a signal would; the exit status is 0 unless another is given. */
  stop(reason: string, status?: number): Promise<number>
  isStopping(): boolean
  /** The exit status, once the server was told to stop and has stopped. */
  readonly stopped: Promise<number>
}

/** The command line itself is wrong: exit status 2. */
export class Misuse extends Error {}
