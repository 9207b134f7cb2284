import { createCipheriv, createDecipheriv, scrypt } from 'node:crypto'
import { promisify } from 'node:util'
import { AppError, type ErrorDefinition } from '#src/lib/app-error.ts'
import type { Random } from '#src/lib/random.ts'
import { signingKeyErrors } from './signing-key.errors.ts'

export interface SealingOptions {
  /** Empty if there is none. */
  readonly secret: string
  readonly formerSecret: string
  readonly random: Random
}

/** How a stored key was protected: not at all, by the secret, or by the former one. */
export type Wrapping = 'clear' | 'secret' | 'former'

export interface Opened {
  readonly text: string
  readonly wrapping: Wrapping
}

/** Encrypts secret texts for the store, each bound to its id. */
export type KeySealing = ReturnType<typeof createKeySealing>

/** What is sealed. */
export interface SealedKind {
  /** Keeps a text of one kind from passing for one of another. What is stored depends on it. */
  readonly context: string
  /** How every unencrypted text begins. It differs from what `isSealed` looks for. */
  readonly clearPrefix: string
  /** Names one of them for operators. Never the text itself. */
  readonly nameOf: (id: string) => string
  readonly cannotOpen: ErrorDefinition
}

/** Unencrypted they are JSON. */
export const SIGNING_KEYS: SealedKind = {
  context: 'teslim signing keys 1',
  clearPrefix: '{',
  nameOf: (kid) => `signing key ${kid}`,
  cannotOpen: signingKeyErrors.cannotOpen,
}

/** `v1.NONCE.CIPHERTEXT`, base64url, the tag at the end of the ciphertext. */
const SEALED = /^v1\.([A-Za-z0-9_-]{16})\.([A-Za-z0-9_-]{23,})$/
const CIPHER = 'aes-256-gcm'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** OWASP's parameters for passwords, since a secret may be one. Uses 32 MiB. */
const SCRYPT = { N: 2 ** 15, r: 8, p: 3, maxmem: 64 * 1024 * 1024 }

/** The keys of this process's secrets, each derived once for each kind. */
const derived = new Map<string, Promise<Buffer>>()

type Derive = (secret: string, salt: string, length: number, options: typeof SCRYPT) => Promise<Buffer>

/** An unencrypted text never begins like this. */
export const isSealed = (stored: string): boolean => stored.startsWith('v1.')

const derive = promisify(scrypt) as Derive

/** Derives the key of a secret for one use. */
export function keyUnder(secret: string, context: string): Promise<Buffer> {
  const name = `${context}\n${secret}`
  const key = derived.get(name) ?? derive(secret, context, KEY_BYTES, SCRYPT)
  derived.set(name, key)
  return key
}

export function createKeySealing({ secret, formerSecret, random }: SealingOptions, kind: SealedKind = SIGNING_KEYS) {
  const { context, clearPrefix } = kind
  const boundTo = (id: string): Buffer => Buffer.from(`${context} ${id}`)
  const refusal = (id: string, why: string): AppError => refusalToOpen(kind, id, why)

  const keyFrom = (from: string): Promise<Buffer> => keyUnder(from, context)

  return {
    hasSecret: secret !== '',

    /** Returns the text unchanged if there is no secret. */
    async seal(id: string, text: string) {
      if (secret === '') return text
      const key = await keyFrom(secret)
      const nonce = random(NONCE_BYTES)
      const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES }).setAAD(boundTo(id))
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
      return `v1.${nonce.toString('base64url')}.${sealed.toString('base64url')}`
    },

    /** Throws the error of its kind, such as SIGNING_KEY_CANNOT_OPEN. */
    async open(id: string, stored: string): Promise<Opened> {
      if (stored.startsWith(clearPrefix)) return { text: stored, wrapping: 'clear' }
      const [, nonce = '', sealed = ''] = SEALED.exec(stored) ?? []
      const bytes = Buffer.from(sealed, 'base64url')
      // Unused bits at the end must be unchanged too.
      if (bytes.toString('base64url') !== sealed || nonce === '') throw refusal(id, 'its row is damaged')
      for (const [from, wrapping] of [
        [secret, 'secret'],
        [formerSecret, 'former'],
      ] as const) {
        const text = from === '' ? undefined : decrypted(await keyFrom(from), boundTo(id), nonce, bytes)
        if (text !== undefined) return { text, wrapping }
      }
      if (secret === '') throw refusal(id, NO_SECRET)
      throw refusal(id, formerSecret === '' ? WRONG_SECRET : BOTH_WRONG)
    },
  }
}

/** Returns undefined if the key is wrong or any bit was changed; the two cannot be told apart. */
function decrypted(key: Buffer, bound: Buffer, nonce: string, bytes: Buffer): string | undefined {
  const decipher = createDecipheriv(CIPHER, key, Buffer.from(nonce, 'base64url'), { authTagLength: TAG_BYTES })
  decipher.setAAD(bound).setAuthTag(bytes.subarray(-TAG_BYTES))
  try {
    return Buffer.concat([decipher.update(bytes.subarray(0, -TAG_BYTES)), decipher.final()]).toString('utf8')
  } catch {
    return undefined
  }
}

const NO_SECRET =
  'it is encrypted, and neither TESLIM_SECRET nor TESLIM_SECRET_FILE is set: set the secret that it was stored under'
const WRONG_SECRET =
  'TESLIM_SECRET (or the file of TESLIM_SECRET_FILE) is not the secret that it was stored under: set that one again, or set it as TESLIM_SECRET_OLD and run teslim signing-key rewrap; nothing was changed'

const BOTH_WRONG =
  'neither TESLIM_SECRET nor TESLIM_SECRET_OLD (nor the files they come from) is the secret that it was stored under: set that one; nothing was changed'

const refusalToOpen = ({ nameOf, cannotOpen }: SealedKind, id: string, why: string): AppError =>
  new AppError(cannotOpen, { reason: `${nameOf(id)}: ${why}` })

/** Names the key id, which is public, and never the key itself. */
export const cannotOpen = (kid: string, why: string): AppError => refusalToOpen(SIGNING_KEYS, kid, why)
