import { hash, verify } from '@node-rs/argon2'
import { ARGON2 } from '#src/login/hashing.ts'

/** Only verifies: so many at once, for so many seconds. Prints how many a second. */
const [concurrency = 1, seconds = 1] = process.argv.slice(2).map(Number)
const PASSWORD = 'correct horse battery staple'
const made = await hash(PASSWORD, ARGON2)
const end = performance.now() + seconds * 1000
let verified = 0

const start = performance.now()
await Promise.all(
  Array.from({ length: concurrency }, async () => {
    while (performance.now() < end) {
      if (!(await verify(made, PASSWORD))) throw new Error('it does not match')
      verified++
    }
  }),
)
console.log(verified / ((performance.now() - start) / 1000))
