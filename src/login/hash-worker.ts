import { constants, setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import { hashSync, verifySync } from '@node-rs/argon2'
import { answerRequests } from '#src/lib/worker/answer.ts'
import { ARGON2, type HashRequest } from './hashing.ts'

const work = ({ password, passwordHash }: HashRequest): boolean | string =>
  passwordHash === undefined ? hashSync(password, ARGON2) : verifySync(passwordHash, password)

/** Lowers the priority of this thread on Linux; elsewhere the call would lower that of the whole process. */
function lowerPriority(): void {
  if (process.platform !== 'linux') return
  try {
    setPriority(0, constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // A sandbox may forbid it; logins then compete with deliveries as equals.
  }
}

if (parentPort) {
  lowerPriority()
  answerRequests(parentPort, work)
}
