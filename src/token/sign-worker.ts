import { parentPort } from 'node:worker_threads'
import { answerRequests } from '#src/lib/worker/answer.ts'
import { type SignRequest, signatureOf } from './signer.ts'

if (parentPort) {
  answerRequests(parentPort, ({ algorithm, privateKey, texts }: SignRequest) =>
    texts.map((text) => signatureOf(text, algorithm, privateKey)),
  )
}
