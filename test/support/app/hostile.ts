import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import type { ServerProcess } from '../processes/process.ts'

/** Options of Node with which a server holds as much at once as it does in a container of 512 MiB: an eighth of that, or a quarter of this heap. */
export const HEAP_OF_512_MEGABYTES: readonly string[] = ['--max-heap-size=256']

export interface Crowd {
  /** What each connection was answered, so far. */
  answers(): string[]
  /** How many are still open. */
  open(): number
  leave(): void
}

/** Opens connections that send these bytes and then nothing more, and read what they are answered. */
async function crowd(
  { url }: Pick<ServerProcess, 'url'>,
  count: number,
  ...bytes: (string | Buffer)[]
): Promise<Crowd> {
  const port = Number(new URL(url).port)
  const answers = Array.from({ length: count }, () => '')
  const sockets = new Set<Socket>()
  const begun = answers.map((_, index) => {
    const socket = connect(port, '127.0.0.1')
    sockets.add(socket)
    socket.on('data', (chunk) => {
      answers[index] += chunk.toString('latin1')
    })
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
    return new Promise<void>((resolve) => {
      socket.on('close', () => resolve())
      socket.on('connect', () => {
        for (const part of bytes) socket.write(part)
        resolve()
      })
    })
  })
  await Promise.all(begun)
  return {
    answers: () => answers,
    open: () => sockets.size,
    leave: () => {
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** The most resident memory that a process ever had, in megabytes. */
export const peakMegabytes = ({ child }: ServerProcess): number =>
  Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1024

/** A crowd that leaves when the test is over. */
export async function hold(...args: Parameters<typeof crowd>): Promise<Crowd> {
  const one = await crowd(...args)
  onTestFinished(() => one.leave())
  return one
}
