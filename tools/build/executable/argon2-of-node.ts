// What teslim uses of @node-rs/argon2, by Node's own Argon2.
import { argon2, argon2Sync, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import type { Options } from '@node-rs/argon2'

/** The numbers of the library. */
const ALGORITHMS = ['argon2d', 'argon2i', 'argon2id'] as const

type Parameters = Required<Pick<Options, 'algorithm' | 'memoryCost' | 'timeCost' | 'parallelism'>>

interface Hash {
  readonly parameters: Parameters
  readonly salt: Buffer
  readonly tag: Buffer
}

const PHC = /^\$(argon2(?:d|i|id))\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([\w+/]+)\$([\w+/]+)$/

function parse(text: string): Hash {
  const [, name = '', memory, time, lanes, salt = '', tag = ''] = PHC.exec(text) ?? []
  const algorithm = (ALGORITHMS as readonly string[]).indexOf(name)
  if (algorithm === -1) throw new Error('it is no hash of Argon2')
  const parameters = { algorithm, memoryCost: Number(memory), timeCost: Number(time), parallelism: Number(lanes) }
  return { parameters, salt: Buffer.from(salt, 'base64'), tag: Buffer.from(tag, 'base64') }
}

const requestOf = (password: string, { parameters, salt, tag }: Hash) => {
  const { algorithm, memoryCost, timeCost, parallelism } = parameters
  const options = {
    message: password,
    nonce: salt,
    tagLength: tag.length,
    memory: memoryCost,
    passes: timeCost,
    parallelism,
  }
  return [ALGORITHMS[algorithm] ?? 'argon2id', options] as const
}

const unfilled = (parameters: Parameters): Hash => ({ parameters, salt: randomBytes(16), tag: Buffer.alloc(32) })

function textOf({ parameters, salt }: Hash, tag: Buffer): string {
  const { algorithm, memoryCost, timeCost, parallelism } = parameters
  const [saltText, tagText] = [salt, tag].map((bytes) => bytes.toString('base64').replace(/=+$/, ''))
  return `$${ALGORITHMS[algorithm]}$v=19$m=${memoryCost},t=${timeCost},p=${parallelism}$${saltText}$${tagText}`
}

const run = promisify(argon2)

export async function hash(password: string, parameters: Parameters): Promise<string> {
  const made = unfilled(parameters)
  return textOf(made, await run(...requestOf(password, made)))
}

export function hashSync(password: string, parameters: Parameters): string {
  const made = unfilled(parameters)
  return textOf(made, argon2Sync(...requestOf(password, made)))
}

export async function verify(text: string, password: string): Promise<boolean> {
  const made = parse(text)
  return timingSafeEqual(await run(...requestOf(password, made)), made.tag)
}

export function verifySync(text: string, password: string): boolean {
  const made = parse(text)
  return timingSafeEqual(argon2Sync(...requestOf(password, made)), made.tag)
}

export const parseOptions = (text: string): Parameters => parse(text).parameters
