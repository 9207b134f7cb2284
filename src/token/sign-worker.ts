import type { KeyObject } from 'node:crypto'
import { parentPort } from 'node:worker_threads'
import { answerRequests } from '#src/lib/worker/answer.ts'
import { signatureOf } from './signature.ts'

export interface SignRequest {
  readonly algorithm: string
  readonly privateKey: KeyObject
  readonly texts: readonly string[]
}

if (parentPort) {
  answerRequests(parentPort, ({ algorithm, privateKey, texts }: SignRequest) =>
    texts.map((text) => signatureOf(text, algorithm, privateKey)),
  )
}
