import { constants, setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import { hashSync, verifySync } from '@node-rs/argon2'
import { ARGON2 } from './argon2.ts'

export interface HashRequest {
  readonly id: number
  readonly password: string
  /** What to verify the password against; without it the password is hashed. */
  readonly passwordHash?: string
}

export interface HashReply {
  readonly id: number
  readonly result?: boolean | string
  readonly error?: string
}

/** A thread that does nothing but hash. On Linux its priority is its own; elsewhere it would be the whole process's. */
function work(port: NonNullable<typeof parentPort>): void {
  if (process.platform === 'linux') setPriority(0, constants.priority.PRIORITY_BELOW_NORMAL)

  port.on('message', ({ id, password, passwordHash }: HashRequest) => {
    try {
      const result = passwordHash === undefined ? hashSync(password, ARGON2) : verifySync(passwordHash, password)
      port.postMessage({ id, result } satisfies HashReply)
    } catch (error) {
      port.postMessage({ id, error: String(error) } satisfies HashReply)
    }
  })
}

if (parentPort) work(parentPort)
