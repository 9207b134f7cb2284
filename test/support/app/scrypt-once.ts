import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'

type Done = (error: Error | null, key: Buffer) => void
type Scrypt = (secret: string, salt: string, length: number, options: crypto.ScryptOptions, done: Done) => void

const derive = crypto.scrypt as Scrypt
const derived = new Map<string, Promise<Buffer>>()

/**
 * Derives each key once in a test process, because it takes a quarter of a second of processor time: every command that runs
 * inside the process (command.ts) would derive it again.
 */
const deriveOnce: Scrypt = (secret, salt, length, options, done) => {
  const name = JSON.stringify([secret, salt, length, options])
  let key = derived.get(name)
  if (key === undefined) {
    key = new Promise((resolve, reject) =>
      derive(secret, salt, length, options, (error, made) => (error ? reject(error) : resolve(made))),
    )
    derived.set(name, key)
  }
  key.then(
    (made) => done(null, made),
    (error) => done(error, Buffer.alloc(0)),
  )
}

Object.assign(crypto, { scrypt: deriveOnce })
syncBuiltinESMExports()
