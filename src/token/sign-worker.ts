import type { KeyObject } from 'node:crypto'
import { parentPort } from 'node:worker_threads'
import { signatureOf } from './signature.ts'

export interface SignRequest {
  readonly id: number
  readonly algorithm: string
  readonly privateKey: KeyObject
  readonly texts: readonly string[]
}

export interface SignReply {
  readonly id: number
  readonly signatures: readonly string[]
}

parentPort?.on('message', ({ id, algorithm, privateKey, texts }: SignRequest) => {
  const signatures = texts.map((text) => signatureOf(text, algorithm, privateKey))
  parentPort?.postMessage({ id, signatures } satisfies SignReply)
})
