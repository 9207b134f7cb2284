import { loadConfig } from '#src/config/load-config.ts'
import { openStore } from '#src/store/open-store.ts'
import { confirmation, save, waiting } from './webhook-rows.ts'

/** What a holder was allowed to store: the next position of an endpoint. */
export interface Step {
  readonly id: string
  readonly position: number
}

/** Takes endpoints and moves each of them forward one by one, for as long as it may. A parent may stop and continue this process. */
async function hold([url = '', holder = '', lease = '']: readonly string[]): Promise<void> {
  const { store } = await openStore(loadConfig({ DATABASE_URL: url, TESLIM_DATABASE_POOL: '3' }).config, 0)
  const { webhooks } = store
  const mine = new Map<string, Step>()
  let done = false
  process.once('message', () => {
    done = true
  })
  for (let round = 0; !done; round++) {
    for (const { id, isNew } of await webhooks.hold(holder, Number(lease), 2).catch(() => [])) {
      const position = isNew ? (await webhooks.find(id))?.position : undefined
      if (position !== undefined) mine.set(id, { id, position })
    }
    const next = [...mine.values()].map((step) => ({ ...step, position: step.position + 1 }))
    const saves = next.map(({ id, position }) =>
      save(id, {
        position,
        confirmed: [confirmation(position)],
        kept: [waiting(position)],
        settled: [{ position: position - 1, lane: 1 - position }],
      }),
    )
    // The server ends the session of a process that stalls in a transaction, and undoes that.
    const stored = await webhooks.save(holder, saves, Date.now()).catch(() => undefined)
    if (stored === undefined) continue
    for (const step of next) {
      if (!stored.includes(step.id)) mine.delete(step.id)
      else {
        mine.set(step.id, step)
        process.send?.(step)
      }
    }
    if (round % 10 === 9) {
      await webhooks.release(holder)
      mine.clear()
    }
  }
  await store.close()
  process.disconnect?.()
}

if (process.send) await hold(process.argv.slice(2))
