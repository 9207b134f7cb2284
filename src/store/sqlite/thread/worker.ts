import { parentPort, workerData } from 'node:worker_threads'
import { answerRequests } from '#src/lib/worker/answer.ts'
import { openPerformer } from './serve.ts'

if (parentPort) {
  const { perform, failureOf, needsTurn, close } = openPerformer(workerData)
  answerRequests(parentPort, perform, { failureOf, needsTurn, onClose: close })
}
