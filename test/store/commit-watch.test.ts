import { expect, it } from 'vitest'
import type { Listening } from '#src/store/postgres/connection/listening.ts'
import { createCommitWatch } from '#src/store/postgres/deliveries/commit-watch.ts'
import { until } from '../support/until.ts'

/** Connections that open when the test says so, in any order. */
function connections() {
  const opened: { readonly open: () => void; readonly notify: () => void; readonly left: () => boolean }[] = []
  const listen = (_sql: string, onNotice: () => void): Promise<Listening> => {
    const { promise, resolve } = Promise.withResolvers<Listening>()
    let left = false
    const leave = (): void => {
      left = true
    }
    const notify = (): void => {
      if (!left) onNotice()
    }
    opened.push({ open: () => resolve({ run: async () => undefined, leave }), notify, left: () => left })
    return promise
  }
  return { opened, listen }
}

it.each([
  ['in their order', [0, 1]],
  ['the other way round', [1, 0]],
])(
  'a watcher that replaces another while the connection opens is told of every commit, whichever opens first: %s',
  async (_order, order) => {
    const { opened, listen } = connections()
    const watch = createCommitWatch({ listen })
    watch.watch(() => undefined)()
    let told = 0
    watch.watch(() => told++)
    for (const number of order) {
      opened[number]?.open()
      await Promise.resolve()
      opened[number]?.notify()
    }
    await until('one connection is left to listen', () => opened.filter(({ left }) => !left()).length === 1)
    for (let commits = 0; commits < 3; commits++) {
      const before = told
      for (const { notify } of opened) notify()
      await until('the watcher is told', () => told > before)
    }
    watch.close()
    expect(opened.every(({ left }) => left())).toBe(true)
  },
)
