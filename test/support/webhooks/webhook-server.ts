import { once } from 'node:events'
import { Writable } from 'node:stream'
import { pino } from 'pino'
import { buildApp } from '#src/app.ts'
import { loadConfig } from '#src/config/load-config.ts'
import { systemClock } from '#src/lib/clock.ts'
import { createMetrics } from '#src/lib/metrics.ts'
import { systemRandom } from '#src/lib/random.ts'
import { openStore } from '#src/store/open-store.ts'

// A server whose attempts end sooner than the 15 seconds that users get. Started as a process by test/support/webhooks/webhook-process.ts.
const timeoutMilliseconds = Number(process.argv[2])
const loaded = loadConfig(process.env)
const { store } = await openStore(loaded.config, Date.now(), { toServe: true })
const lines = new Writable({
  write(chunk, _encoding, done) {
    process.stdout.write(chunk, () => done())
  },
})
const app = await buildApp({
  loaded,
  store,
  clock: systemClock,
  random: systemRandom,
  metrics: createMetrics(),
  logger: pino({ level: 'info', base: null }, lines),
  writeInfo: () => undefined,
  sending: { timeoutMilliseconds },
})
process.stdout.write(`listening on ${await app.listen({ port: 0, host: '127.0.0.1' })}\n`)
await once(process, 'SIGTERM')
await app.close()
await store.close()
process.exit(0)
