import { type KeyObject, sign } from 'node:crypto'
import { startThread } from '#src/lib/program-files.ts'
import { createWorkerClient } from '#src/lib/worker/client.ts'
import type { UsableKey } from './usable-key.ts'

export type Signer = ReturnType<typeof createSigner>

/** What the signing thread is asked. */
export interface SignRequest {
  readonly algorithm: string
  readonly privateKey: KeyObject
  readonly texts: readonly string[]
}

interface Waiting {
  readonly text: string
  readonly resolve: (signature: string) => void
  readonly reject: (error: unknown) => void
}

/** Sends this many texts at once, so that the thread has work while the others of the turn still come in. */
const MAX_TOGETHER = 8

/**
 * Signs all texts of one turn of the event loop together in a thread, because waking a thread takes as long as one signature.
 * Signs on the calling thread what is alone in its turn, and what the thread could not sign.
 */
export function createSigner(spawn = () => startThread('token/sign-worker', { name: 'sign' })) {
  const asked = new Map<UsableKey, Waiting[]>()
  const thread = createWorkerClient<SignRequest, string>({
    name: 'the signing thread',
    spawn,
    onDeath: (cause) => cause,
    onFailure: (message) => new Error(message),
  })

  const signThere = async (key: UsableKey, waiting: readonly Waiting[]): Promise<void> => {
    const { algorithm, privateKey } = key
    try {
      const request = { algorithm, privateKey, texts: waiting.map(({ text }) => text) }
      const signatures = await thread.ask<string[]>(request)
      for (const [index, { resolve }] of waiting.entries()) resolve(signatures[index] as string)
    } catch {
      signHere(key, waiting)
    }
  }

  const signAll = (): void => {
    for (const [key, waiting] of asked) {
      if (waiting.length === 1) signHere(key, waiting)
      else void signThere(key, waiting)
    }
    asked.clear()
  }

  return {
    sign(text: string, key: UsableKey) {
      const { promise, resolve, reject } = Promise.withResolvers<string>()
      if (asked.size === 0) setImmediate(signAll)
      const waiting = asked.get(key) ?? []
      waiting.push({ text, resolve, reject })
      asked.set(key, waiting)
      if (waiting.length === MAX_TOGETHER) {
        asked.delete(key)
        void signThere(key, waiting)
      }
      return promise
    },
    close: () => thread.terminate(),
  }
}

function signHere({ algorithm, privateKey }: UsableKey, waiting: readonly Waiting[]): void {
  for (const { text, resolve, reject } of waiting) {
    try {
      resolve(signatureOf(text, algorithm, privateKey))
    } catch (error) {
      reject(error)
    }
  }
}

/** Returns the signature part of a JWS (RFC 7515), in base64url. */
export function signatureOf(text: string, algorithm: string, key: KeyObject): string {
  const isEcdsa = algorithm === 'ES256'
  const options = isEcdsa ? ({ key, dsaEncoding: 'ieee-p1363' } as const) : key
  return sign(isEcdsa ? 'sha256' : null, Buffer.from(text), options).toString('base64url')
}

const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url')

/** Signs a JWS in compact form (RFC 7515). */
export async function signCompact(header: object, claims: object, key: UsableKey, signer: Signer): Promise<string> {
  const signed = `${encode(header)}.${encode(claims)}`
  return `${signed}.${await signer.sign(signed, key)}`
}
