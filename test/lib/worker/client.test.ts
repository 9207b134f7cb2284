import { Worker } from 'node:worker_threads'
import { expect, it, onTestFinished } from 'vitest'
import { createWorkerClient } from '#src/lib/worker/client.ts'

/** Answers a text with an exclamation mark added, but obeys some texts. */
const THREAD = `
  import { parentPort } from 'node:worker_threads'
  import { answerRequests } from ${JSON.stringify(new URL('../../../src/lib/worker/answer.ts', import.meta.url).href)}
  let hasThrown = false
  answerRequests(parentPort, (text) => {
    if (text === 'fail') throw new Error('on purpose')
    if (text === 'function') return () => text
    if (text === 'nothing') return undefined
    if (text === 'die') process.exit(3)
    if (text === 'throw') {
      hasThrown = true
      queueMicrotask(() => { throw new Error('on purpose') })
      return text
    }
    if (text === 'think') for (const end = performance.now() + 200; performance.now() < end; );
    if (text === 'wait') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
    return text + '!'
  }, { needsTurn: () => hasThrown })`

function startClient(idleMilliseconds?: number) {
  const workers: Worker[] = []
  const client = createWorkerClient<unknown, string>({
    name: 'the thread',
    spawn() {
      const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(THREAD)}`))
      workers.push(worker)
      return worker
    },
    onDeath: (cause) => new Error(`lost: ${cause.message}`),
    onFailure: (failure) => new Error(`failed: ${failure}`),
    ...(idleMilliseconds !== undefined && { idleMilliseconds }),
  })
  onTestFinished(() => client.terminate())
  return { client, workers }
}

const outcomesOf = async (asked: Promise<unknown>[]) =>
  (await Promise.allSettled(asked)).map((outcome) =>
    outcome.status === 'fulfilled' ? outcome.value : (outcome.reason as Error).message,
  )

it('gives every request its own answer, and fails alone what the thread cannot do or cannot send back', async () => {
  const { client, workers } = startClient()
  const asked = ['a', 'fail', 'b', 'function', 'c', 'nothing'].map((text) => client.ask(text))
  expect(client.underWay()).toBe(6)
  const [a, failed, b, notSent, c, nothing] = await outcomesOf(asked)
  expect([a, b, c, nothing]).toEqual(['a!', 'b!', 'c!', undefined])
  expect(failed).toBe('failed: Error: on purpose')
  expect(notSent).toContain('could not be cloned')
  expect(client.underWay()).toBe(0)
  expect(workers).toHaveLength(1)
})

it('rejects what cannot be sent, and goes on', async () => {
  const { client } = startClient()
  const [notSent, sent] = await outcomesOf([client.ask(() => undefined), client.ask('a')])
  expect(notSent).toContain('could not be cloned')
  expect(sent).toBe('a!')
  expect(client.underWay()).toBe(0)
})

it('rejects what a thread that dies did not answer, and starts another for the next request', async () => {
  const { client, workers } = startClient()
  const asked = ['a', 'die', 'b'].map((text) => client.ask(text))
  const lost = 'lost: the thread died: it ended with 3'
  expect(await outcomesOf(asked)).toEqual(['a!', lost, lost])
  expect(await client.ask('c')).toBe('c!')
  expect(workers).toHaveLength(2)
})

it('answers what was asked before it is closed, and nothing afterwards', async () => {
  const { client, workers } = startClient()
  const asked = ['a', 'b'].map((text) => client.ask(text))
  const closing = client.close()
  const late = client.ask('c')
  expect(await outcomesOf([...asked, late])).toEqual(['a!', 'b!', 'lost: the thread is closed'])
  await closing
  expect(workers).toHaveLength(1)
})

it('rejects what it was asked when it is terminated', async () => {
  const { client } = startClient()
  await client.ask('a')
  const outcomes = outcomesOf([client.ask('wait'), client.ask('b')])
  await client.terminate()
  const lost = 'lost: the thread is closed'
  expect(await outcomes).toEqual([lost, lost])
  expect(client.underWay()).toBe(0)
})

it('closes although the thread dies from an error meanwhile, and tells requests without an answer the cause', async () => {
  const { client } = startClient()
  await client.ask('a')
  const outcomes = outcomesOf(['throw', 'b'].map((text) => client.ask(text)))
  await client.close()
  expect((await outcomes)[1]).toBe('lost: the thread died: on purpose')
})

it('a thread with nothing to do ends, not before its last answer, and the next request starts another', async () => {
  const { client, workers } = startClient(50)
  const slow = client.ask('think')
  await expect.poll(() => workers.length).toBe(1)
  const ended = new Promise((resolve) => workers[0]?.once('exit', resolve))
  expect(await slow).toBe('think!')
  expect(await ended).toBe(0)
  expect(await client.ask('a')).toBe('a!')
  expect(workers.length).toBe(2)
  const closing = client.close()
  await expect(client.ask('b')).rejects.toThrow('the thread is closed')
  await closing
})
