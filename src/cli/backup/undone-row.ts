import { shellWord } from '#src/lib/printable.ts'

/** A row for people: what it is, what a restore did to it, and the command that undoes that. */
export type Undone = readonly [what: string, happened: string, repeat: string]

/** A command as it can be pasted into a shell. */
export const typed = (command: string, ...words: readonly string[]): string =>
  ['teslim', command, ...words.map(shellWord)].join(' ')
