import { createGetText } from './get.ts'
import type { BenchServer } from './server-process.ts'

/** V8 has then compiled what is used most. */
export const WARM_UP_SECONDS = 5

/** A server without requests for 5 s gives memory back, and V8 then drops compiled code: one that is in use never does. */
const AWAKE_MILLISECONDS = 2000

/**
 * Sends all servers but those that are measured a request now and then, which only teslim does not answer with 404. `/readyz` keeps the
 * thread that writes awake, too; on PostgreSQL it would cost the database something meanwhile.
 */
export function keptAwake(servers: readonly BenchServer[], path: '/livez' | '/readyz') {
  const asking = servers.map((server) => ({ server, get: createGetText(server.url) }))
  return async <Result>(measured: readonly BenchServer[], measure: () => Promise<Result>): Promise<Result> => {
    const others = asking.filter(({ server }) => !measured.includes(server))
    const ask = (): void => others.forEach(({ get }) => void get(path).catch(() => undefined))
    ask()
    const timer = setInterval(ask, AWAKE_MILLISECONDS)
    return measure().finally(() => clearInterval(timer))
  }
}
