import type { Readable } from 'node:stream'
import type { Config, LoadedConfig } from '#src/config/load-config.ts'
import type { Clock } from '#src/lib/clock.ts'
import type { Random } from '#src/lib/random.ts'
import type { Store } from '#src/store/store.ts'

export interface Option {
  readonly type: 'boolean' | 'string'
  readonly multiple?: boolean
  readonly required?: boolean
  /** Names the value in the help. */
  readonly value?: string
  readonly about: string
}

export interface Command {
  /** What is typed: `customer add`. */
  readonly name: string
  readonly about: string
  /** Positional arguments, all required; the last may be `RULE...`, one or more. */
  readonly positionals?: readonly string[]
  readonly options?: Readonly<Record<string, Option>>
  /** Resolves to the exit status; nothing is 0. */
  run(input: Input, context: CliContext): Promise<number | undefined>
}

/** What was typed after the command's name. */
export interface Input {
  readonly positionals: readonly string[]
  readonly json: boolean
  flag(name: string): boolean
  text(name: string): string | undefined
  texts(name: string): string[]
}

export interface CliContext {
  readonly stdin: Readable & { readonly isTTY?: boolean }
  readonly clock: Clock
  readonly random: Random
  /** Characters in a line of the terminal; undefined where there is none. */
  readonly columns: number | undefined
  /** Who types, for the audit log. */
  actor(): string
  out(text: string): void
  /** As they are, without a line's end. */
  outBytes(bytes: Uint8Array): void
  err(text: string): void
  /** Shown on a terminal in place of what was shown before; nothing elsewhere. */
  progress(text: string): void
  loadConfig(): LoadedConfig
  startServer(config: Config, store: Store): Promise<RunningServer>
}

export interface RunningServer {
  /** Where it can be reached from this machine. */
  readonly url: string
  /** What curl needs besides that address, with a space before. */
  readonly curlOptions: string
  warn(message: string): void
  /** Says what makes it impossible to go on, and stops it with status 1. */
  fail(reason: string): void
  /** Stops it as a signal would; the exit status is 0 unless another is given. */
  stop(reason: string, status?: number): Promise<number>
  /** The exit status, once it has been told to stop and has. */
  readonly stopped: Promise<number>
}

/** The command line itself is wrong: exit status 2. */
export class Misuse extends Error {}
