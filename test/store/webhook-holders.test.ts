import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { newPostgresStore } from '../support/postgres/postgres-session.ts'
import { webhook } from '../support/store/store-rows.ts'
import { openTestStore } from '../support/store/test-store.ts'
import { until } from '../support/until.ts'
import type { Step } from '../support/webhooks/webhook-holder.ts'

const HOLDER = fileURLToPath(new URL('../support/webhooks/webhook-holder.ts', import.meta.url))
const LEASE_MILLISECONDS = 200
const HOLDERS = ['a', 'b', 'c']
const STEPS = 400

it('processes that take endpoints from each other lose no step and store none twice, whoever stalls and whatever operators change', async () => {
  const url = await newPostgresStore()
  const store = await openTestStore(url)
  const { webhooks } = store
  const all = Array.from({ length: 3 }, () => webhook())
  for (const each of all) await webhooks.add(each)

  const steps: (Step & { readonly by: string })[] = []
  const start = (by: string): ChildProcess => {
    const { PATH, NODE_COMPILE_CACHE } = process.env
    const child = fork(HOLDER, [url, by, String(LEASE_MILLISECONDS)], { env: { PATH, NODE_COMPILE_CACHE } })
    onTestFinished(() => void child.kill('SIGKILL'))
    child.on('message', (step: Step) => void steps.push({ ...step, by }))
    return child
  }
  const children = HOLDERS.map(start)
  const allStepped = () => new Set(steps.map(({ by }) => by)).size === HOLDERS.length
  for (let turn = 0; steps.length < STEPS || !allStepped(); turn++) {
    const before = steps.length
    const index = turn % children.length
    const stalled = children[index] as ChildProcess
    stalled.kill('SIGSTOP')
    const lastBy = (id: string) => steps.findLast((step) => step.id === id)?.by
    const theirs = all.filter(({ id }) => lastBy(id) === HOLDERS[index])
    await until(
      'the others go on, with what it held, too',
      () => steps.length > before + 20 && theirs.every(({ id }) => lastBy(id) !== HOLDERS[index]),
    )
    stalled.kill('SIGCONT')
    // Most stalls are followed by an operator who changes an endpoint.
    const { id } = all[turn % all.length] as { id: string }
    if (turn % 4 !== 3) await webhooks.change(id, { secret: `sealed ${turn}` })
  }
  const ends = children.map(async (child) => {
    const ended = once(child, 'exit')
    child.send('end')
    return (await ended)[0]
  })
  expect(await Promise.all(ends)).toEqual([0, 0, 0])

  for (const { id } of all) {
    const positions = steps
      .filter((step) => step.id === id)
      .map(({ position }) => position)
      .sort((one, other) => one - other)
    expect(positions).toEqual(positions.map((_, index) => index + 1))
    const last = positions.length
    // Each step settles the one before.
    expect(await webhooks.find(id)).toMatchObject({ position: last, waiting: 1, failing: 1 })
    expect(await webhooks.failing(id, 9)).toMatchObject([{ position: last }])
    const fates = await webhooks.fates(id, positions)
    expect(positions.slice(0, -1).filter((each) => fates.get(each)?.state !== 'confirmed')).toEqual([])
  }
})
