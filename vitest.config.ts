import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Tests run on Node's own type stripping, as the service does.
    experimental: { viteModuleRunner: false },
    // Argon2 and real processes take their time on a small machine.
    testTimeout: 30_000,
    // They wait more than they work.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    hookTimeout: 30_000,
    setupFiles: './test/support/checked-fetch.ts',
    globalSetup: './test/support/global-setup.ts',
    reporters: process.env.CI ? ['default', ['json', { outputFile: 'coverage/test-results.json' }]] : ['default'],
  },
})
