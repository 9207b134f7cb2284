import { joinedPeer } from '#src/lib/worker/client.ts'
import type { SpawnReader } from './reader.ts'
import type { SpawnWriter } from './writer.ts'

// For commands: they wait for each operation anyway, and a thread takes longer to start than most of them take.

/** Does the reader's work in the calling thread. */
export async function readerHere(): Promise<SpawnReader> {
  const { serveReads } = await import('./reading.ts')
  return (path) => joinedPeer((port) => serveReads(port, path))
}

/** Does the writer's work in the calling thread. */
export async function writerHere(): Promise<SpawnWriter> {
  const { serveWrites } = await import('./writing.ts')
  return (data) => joinedPeer((port) => serveWrites(port, data))
}
