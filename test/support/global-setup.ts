import type { TestProject } from 'vitest/node'
import { startPostgres } from './postgres-server.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** A PostgreSQL server on which databases may be made. */
    readonly postgresUrl: string
  }
}

/** One server for all files of a project: the one that TEST_DATABASE_URL names, else one of our own. */
export default async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const given = process.env.TEST_DATABASE_URL
  if (given) {
    provide('postgresUrl', given)
    return async () => undefined
  }
  // Several files use it at once, and each replica of theirs has a pool.
  const server = await startPostgres({ settings: ['max_connections = 300'] })
  provide('postgresUrl', server.url)
  return () => server.remove()
}
