import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { randomText } from '#src/lib/random.ts'
import { type CliContext, type Input, Misuse, type Option } from './command.ts'

export const passwordOptions: Record<string, Option> = {
  'password-stdin': { type: 'boolean', about: 'Read the password from stdin; one newline at its end is dropped' },
  generate: { type: 'boolean', about: 'Make a random password and print it once' },
}

const GENERATED_LENGTH = 24

export interface PasswordInput {
  readonly password: string
  readonly generated: boolean
}

/** A password from stdin, from a prompt or made up; never from the command line, where other users could read it. */
export async function readPassword(input: Input, context: CliContext): Promise<PasswordInput> {
  const fromStdin = input.flag('password-stdin')
  if (input.flag('generate')) {
    if (fromStdin) throw new Misuse('--password-stdin and --generate exclude each other')
    return { password: randomText(GENERATED_LENGTH, context.random), generated: true }
  }
  if (fromStdin) return { password: decode(await buffer(context.stdin)), generated: false }
  if (!context.stdin.isTTY)
    throw new Misuse('a password is needed: --password-stdin, --generate, or a terminal to ask on')
  const password = await ask('Password: ', context)
  if ((await ask('Once more: ', context)) !== password) throw new Misuse('the two passwords differ')
  return { password, generated: false }
}

function decode(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes).replace(/\r?\n$/, '')
  } catch {
    throw new Misuse('the password on stdin is not valid UTF-8')
  }
}

/** Asks without showing what is typed. */
async function ask(question: string, { stdin, err }: CliContext): Promise<string> {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  const prompt = createInterface({ input: stdin, output: silent, terminal: true })
  prompt.on('SIGINT', () => prompt.close())
  try {
    process.stderr.write(question)
    return await prompt.question('')
  } catch {
    throw new Misuse('no password was given')
  } finally {
    prompt.close()
    err('')
  }
}
