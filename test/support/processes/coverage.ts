import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ServerProcess } from './process.ts'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

/** Options of Node with which a server lets `countCalls` look into it. */
export const COUNTED = ['--inspect=127.0.0.1:0']

interface Coverage {
  readonly result: readonly {
    readonly url: string
    readonly functions: readonly { readonly ranges: readonly { readonly count: number }[] }[]
  }[]
}

/** Counts the calls of functions in the main thread of a server, by V8's own coverage. */
export async function countCalls(server: ServerProcess) {
  const [url = ''] = await server.printed(/ws:\S+/)
  const socket = new WebSocket(url)
  const answers = new Map<number, (result: unknown) => void>()
  socket.addEventListener('message', ({ data }) => {
    const { id, result } = JSON.parse(String(data))
    answers.get(id)?.(result)
    answers.delete(id)
  })
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve)
    socket.addEventListener('error', reject)
  })
  let last = 0
  const ask = (method: string, params = {}): Promise<unknown> => {
    const { promise, resolve } = Promise.withResolvers<unknown>()
    answers.set(++last, resolve)
    socket.send(JSON.stringify({ id: last, method, params }))
    return promise
  }
  await ask('Profiler.enable')
  await ask('Profiler.startPreciseCoverage', { callCount: true, detailed: false })

  return {
    /** Returns, for each file that the server has loaded, how often the function ran that ran most often since the last call. */
    async take(): Promise<Map<string, number>> {
      const { result } = (await ask('Profiler.takePreciseCoverage')) as Coverage
      const files = result.filter(({ url }) => url.startsWith('file:'))
      return new Map(
        files.map(({ url, functions }) => {
          const counts = functions.flatMap(({ ranges }) => ranges.map(({ count }) => count))
          return [relative(ROOT, fileURLToPath(url)), Math.max(...counts)]
        }),
      )
    },
    close: () => socket.close(),
  }
}
