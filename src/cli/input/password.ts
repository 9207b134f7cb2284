import { createInterface } from 'node:readline/promises'
import { type Readable, Writable } from 'node:stream'
import { generatePassword } from '#src/customer/credentials.ts'
import { type CliContext, type Input, Misuse, type Option } from '../command.ts'

export const passwordOptions: Record<string, Option> = {
  'password-stdin': { about: 'Read the password from stdin; one newline at the end is dropped' },
  generate: { about: 'Generate a random password and print it once' },
}

export interface PasswordInput {
  readonly password: string
  readonly generated: boolean
}

/** Whether an option says where a password comes from. */
export const wantsPassword = (input: Input): boolean => Object.keys(passwordOptions).some(input.flag)

/** Takes a password from stdin or a prompt, or generates one; never from the command line, where other users could read it. */
export async function readPassword(input: Input, context: CliContext): Promise<PasswordInput> {
  const fromStdin = input.flag('password-stdin')
  if (input.flag('generate')) {
    if (fromStdin) throw new Misuse('--password-stdin and --generate cannot be combined')
    return { password: generatePassword(context.random), generated: true }
  }
  if (fromStdin) return { password: await readSecretText('password', context), generated: false }
  if (!context.stdin.isTTY)
    throw new Misuse('a password is needed: --password-stdin, --generate, or a terminal to ask on')
  const password = await ask('Password: ', context)
  if ((await ask('Repeat the password: ', context)) !== password) throw new Misuse('the two passwords differ')
  return { password, generated: false }
}

/** Far more than a secret may have: a wrong file is refused before all of it is read. */
const MAX_BYTES = 4096

/** Reads a secret from stdin, without one newline at the end. Errors call it `what`. */
export async function readSecretText(what: string, { stdin }: CliContext, maxBytes = MAX_BYTES): Promise<string> {
  const bytes = await readAll(stdin, what, maxBytes)
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes).replace(/\r?\n$/, '')
  } catch {
    throw new Misuse(`the ${what} on stdin is not valid UTF-8`)
  }
}

async function readAll(stdin: Readable, what: string, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of stdin) {
    chunks.push(chunk)
    length += chunk.length
    if (length > maxBytes) throw new Misuse(`the ${what} on stdin is longer than ${maxBytes} bytes`)
  }
  return Buffer.concat(chunks)
}

/** Asks without showing what is typed. */
async function ask(question: string, { stdin, err }: CliContext): Promise<string> {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  const prompt = createInterface({ input: stdin, output: silent, terminal: true })
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
