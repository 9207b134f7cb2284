import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { WEBHOOK_ALLOW } from '../network/allowed-ports.ts'

const SERVER = fileURLToPath(new URL('./webhook-server.ts', import.meta.url))

export interface PushingServer {
  readonly url: string
  readonly child: ChildProcess
  output(): string
  /** Ends it and waits until it has ended. */
  end(signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null>
}

/** Starts a server as a process whose attempts to push end after so many milliseconds; killed when the test is over. */
export async function startPushing(databaseUrl: string, timeoutMilliseconds: number): Promise<PushingServer> {
  const { PATH, NODE_COMPILE_CACHE } = process.env
  const settings = { NODE_ENV: 'production', DATABASE_URL: databaseUrl, ...WEBHOOK_ALLOW }
  const env = { PATH, NODE_COMPILE_CACHE, ...settings }
  const child = spawn(process.execPath, [SERVER, String(timeoutMilliseconds)], { env })
  onTestFinished(() => void child.kill('SIGKILL'))
  const ended = once(child, 'close')
  let printed = ''
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      printed += chunk
      const url = /listening on (http:\S+)\n/.exec(printed)?.[1]
      if (url !== undefined) resolve(url)
    })
  }
  void ended.then(() => reject(new Error(`ended before it listened:\n${printed}`)))
  const url = await promise
  return {
    url,
    child,
    output: () => printed,
    async end(signal) {
      child.kill(signal)
      const [status] = await ended
      return status as number | null
    },
  }
}
