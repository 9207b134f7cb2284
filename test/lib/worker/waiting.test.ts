import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createWorkerClient } from '#src/lib/worker/client.ts'
import { randomBelow } from '../../support/random.ts'
import { until } from '../../support/until.ts'

const source = (name: string): string => new URL(`../../../src/lib/worker/${name}.ts`, import.meta.url).href

/** Where the thread says how it is. */
const WAITS = 0
const WAITED = 1
const TURNS = 2
const IN_VAIN = 3
const BYTES_OF_STATE = 4 * Int32Array.BYTES_PER_ELEMENT

/** Answers with the request. It waits without an end, so that what does not wake it is never answered, and makes pauses before each step. */
const THREAD = `
  import { parentPort, workerData } from 'node:worker_threads'
  import { answerRequests } from '${source('answer')}'
  const { state, pauses, isShort } = workerData
  const { load, wait } = Atomics
  let step = 0
  const pause = () => {
    for (let left = pauses[step++ % pauses.length] ?? 0; left > 0; left--) load(state, 0)
  }
  Atomics.load = (array, index) => {
    pause()
    const value = load(array, index)
    pause()
    return value
  }
  Atomics.wait = (array, index, value, milliseconds) => {
    pause()
    Atomics.store(state, ${WAITS}, 1)
    const outcome = wait(array, index, value, isShort ? 1 : Infinity)
    Atomics.store(state, ${WAITS}, 0)
    Atomics.add(state, ${WAITED}, 1)
    if (outcome === 'timed-out') Atomics.add(state, ${IN_VAIN}, 1)
    return outcome
  }
  let pending = 0
  answerRequests(parentPort, (request) => {
    if (request === 'leave') setImmediate(() => Atomics.add(state, ${TURNS}, 1))
    if (request === 'turn') {
      pending++
      setImmediate(() => {
        pending--
        Atomics.add(state, ${TURNS}, 1)
      })
    }
    return request
  }, { needsTurn: () => pending > 0 })`

const URL_OF_THREAD = `data:text/javascript,${encodeURIComponent(THREAD)}`

interface ThreadOptions {
  readonly pauses?: readonly number[]
  /** It waits for a millisecond only, as if nothing came for long. */
  readonly isShort?: boolean
}

function startClient({ pauses = [], isShort = false }: ThreadOptions = {}) {
  const state = new Int32Array(new SharedArrayBuffer(BYTES_OF_STATE))
  const workers: Worker[] = []
  const client = createWorkerClient<unknown, string>({
    name: 'the thread',
    spawn() {
      const worker = new Worker(new URL(URL_OF_THREAD), { workerData: { state, pauses, isShort } })
      workers.push(worker)
      return worker
    },
    onDeath: (cause) => new Error(`lost: ${cause.message}`),
    onFailure: (failure) => new Error(`failed: ${failure}`),
  })
  onTestFinished(() => client.terminate())
  const waits = () => until('the thread waits', () => Atomics.load(state, WAITS) === 1)
  return { client, workers, state, waits }
}

/** Short ones mostly, so that two threads meet at each step of one another. */
const randomPause = (): number => randomBelow(4) * randomBelow(300)

it('every request wakes the thread, whenever it comes: alone, or with others', async () => {
  const pauses = Array.from({ length: 997 }, randomPause)
  const { client, state } = startClient({ pauses })
  for (let time = 0; time < 3000; time++) {
    const together = randomBelow(3) === 0 ? 1 + randomBelow(5) : 1
    const requests = Array.from({ length: together }, (_, index) => time * 10 + index)
    expect(await Promise.all(requests.map((request) => client.ask(request)))).toEqual(requests)
    for (let left = randomPause(); left > 0; left--) Atomics.load(state, WAITS)
  }
  expect(Atomics.load(state, WAITED)).toBeGreaterThan(100)
})

it.each([
  ['close', 0],
  ['terminate', 1],
] as const)('a thread that waits ends by %s with status %i', async (end, status) => {
  const { client, workers, waits } = startClient()
  await client.ask('a')
  await waits()
  const ended = new Promise((resolve) => workers[0]?.once('exit', resolve))
  await client[end]()
  expect(await ended).toBe(status)
})

it('a thread that waits and dies is noticed, and the next request starts another', async () => {
  const { client, workers, waits } = startClient()
  await client.ask('a')
  await waits()
  await workers[0]?.terminate()
  expect(await client.ask('b')).toBe('b')
  expect(workers).toHaveLength(2)
})

it('what a request leaves to the event loop of the thread is done before the thread waits again', async () => {
  const { client, state, waits } = startClient()
  await client.ask('a')
  await waits()
  for (let turns = 1; turns <= 100; turns++) {
    await client.ask('turn')
    await until('the event loop had its turn', () => Atomics.load(state, TURNS) === turns)
    await waits()
  }
})

it('the event loop of a thread that always has requests has a turn now and then', async () => {
  const { client, state } = startClient()
  await client.ask('a')
  await client.ask('leave')
  let asked = 0
  while (Atomics.load(state, TURNS) === 0) expect(await client.ask(asked)).toBe(asked++)
  expect(asked).toBeGreaterThan(1)
})

it('a thread that nothing comes for waits in its event loop, and answers what comes then', async () => {
  const { client, state } = startClient({ isShort: true })
  for (let time = 1; time <= 10; time++) {
    expect(await client.ask(time)).toBe(time)
    await until('it has waited in vain, once more', () => Atomics.load(state, IN_VAIN) === time)
  }
})

describe('a process ends while one of its threads waits:', () => {
  const program = `
    import { Worker } from 'node:worker_threads'
    import { createWorkerClient } from '${source('client')}'
    const workerData = { state: new Int32Array(new SharedArrayBuffer(${BYTES_OF_STATE})), pauses: [], isShort: false }
    const spawn = () => new Worker(new URL(${JSON.stringify(URL_OF_THREAD)}), { workerData })
    const client = createWorkerClient({ name: 'the thread', spawn, onDeath: (cause) => cause, onFailure: String })
    for (const request of ['a', 'b', 'c']) process.stdout.write(await client.ask(request))
    process.stdin.once('data', () => process.exit(7))
    while (Atomics.load(workerData.state, ${WAITS}) === 0) await new Promise(setImmediate)
    process.stdout.write('.')`

  it.each([
    ['by process.exit', (child: ChildProcess): void => void child.stdin?.write('exit'), [7, null]],
    ['by SIGTERM', (child: ChildProcess): void => void child.kill('SIGTERM'), [null, 'SIGTERM']],
    ['by SIGKILL', (child: ChildProcess): void => void child.kill('SIGKILL'), [null, 'SIGKILL']],
  ] as const)('%s', async (_, end, outcome) => {
    const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    let answers = ''
    child.stdout.on('data', (chunk) => {
      answers += chunk
    })
    const ended = once(child, 'exit')
    await until('it has answers', () => answers === 'abc.')
    end(child)
    expect(await ended).toEqual(outcome)
  })
})
