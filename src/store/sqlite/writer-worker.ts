import { parentPort, workerData } from 'node:worker_threads'
import { AppError } from '#src/lib/app-error.ts'
import { openDatabase } from './database.ts'
import { type Reply, type Request, writeOperations } from './write-operations.ts'

/** The one thread that writes to the file. Each message is one operation, answered when it is committed. */
function work(port: NonNullable<typeof parentPort>): void {
  const database = openDatabase(workerData.path)
  const operations = writeOperations(database)

  port.on('message', ({ id, name, args }: Request) => {
    try {
      if (name === 'close') {
        database.close()
        port.close()
      } else {
        const operation = operations[name] as (...args: unknown[]) => unknown
        port.postMessage({ id, result: operation(...args) } satisfies Reply)
      }
    } catch (error) {
      const unavailable = error instanceof AppError
      const message = unavailable ? (error.details.reason ?? error.message) : String((error as Error).stack)
      port.postMessage({ id, error: { unavailable, message } } satisfies Reply)
    }
  })
}

if (parentPort) work(parentPort)
