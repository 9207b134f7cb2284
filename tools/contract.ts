import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { buildApp } from '#src/app.ts'
import { loadConfig, type Variables } from '#src/config/load-config.ts'
import type { OpenApi } from '#src/docs/contract/answers.ts'
import { systemClock } from '#src/lib/clock.ts'
import { createMetrics } from '#src/lib/metrics.ts'
import { systemRandom } from '#src/lib/random.ts'
import { openStore } from '#src/store/open-store.ts'

export type { Answer, OpenApi, Operation } from '#src/docs/contract/answers.ts'

/** Makes the contract of a server with the default settings, unless others are given. */
export async function contract(settings: Variables = {}): Promise<OpenApi> {
  const folder = mkdtempSync(join(tmpdir(), 'teslim-contract-'))
  const loaded = loadConfig({ ...settings, DATABASE_URL: `sqlite:${join(folder, 'teslim.db')}` })
  const { store } = await openStore(loaded.config, 0)
  const app = await buildApp({
    loaded,
    store,
    clock: systemClock,
    random: systemRandom,
    metrics: createMetrics(),
    logger: pino({ level: 'silent' }),
    writeInfo: () => undefined,
  })
  try {
    return await app.contract()
  } finally {
    await app.close()
    await store.close()
    rmSync(folder, { recursive: true })
  }
}
