import type { ServerResponse } from 'node:http'
import { fractions } from '../../../support/random.ts'
import { pace } from '../../../support/until.ts'
import { startReceiver } from '../../../support/webhooks/webhook-receiver.ts'
import { type Judge, nameOf } from './judge.ts'

export interface BackOffice {
  readonly url: string
  /** Answers every request with 200 from now on. */
  behave(): void
  /** How many deliveries of each order it has confirmed. */
  readonly confirmed: ReadonlyMap<string, number>
  readonly ended: Promise<void>
}

const MOODS = ['accept', 'accept', 'accept', 'refuse some', 'refuse all', 'slow', 'reset', 'hang'] as const
const MIN_MOOD_MILLISECONDS = 300
const MORE_MILLISECONDS = 1500
const SLOW_MILLISECONDS = 300

/** An endpoint of a back office that misbehaves: it confirms, refuses, resets, hangs and is slow by turns. */
export async function startBackOffice(judge: Judge, abort: AbortSignal): Promise<BackOffice> {
  const draw = fractions('back office')
  const confirmed = new Map<string, number>()
  const hanging = new Set<ServerResponse>()
  let mood: (typeof MOODS)[number] = 'accept'
  let isGood = false

  const receiver = await startReceiver(({ id, order = '', body }, response) => {
    receiver.received.length = 0
    const n = Number(/"n":(\d+)/.exec(body)?.[1])
    const before = confirmed.get(order) ?? 0
    // The delivery before it was confirmed first.
    if (!(n <= before))
      judge.problem(`the webhook sent ${nameOf({ order, n })} (${id}) while ${before} is not confirmed`)
    const confirm = (): void => {
      confirmed.set(order, Math.max(n + 1, confirmed.get(order) ?? 0))
      response.end()
    }
    if (mood === 'accept' || (mood === 'refuse some' && draw() < 0.7)) return confirm()
    if (mood === 'slow') return void pace(SLOW_MILLISECONDS).then(confirm)
    if (mood === 'reset') return void response.destroy()
    if (mood === 'hang') return void hanging.add(response)
    response.writeHead(500).end('no')
  })

  const change = async (): Promise<void> => {
    while (!abort.aborted && !isGood) {
      mood = MOODS[Math.floor(draw() * MOODS.length)] ?? 'accept'
      await pace(MIN_MOOD_MILLISECONDS + draw() * MORE_MILLISECONDS)
      letGo()
    }
  }
  const letGo = (): void => {
    for (const response of hanging) response.destroy()
    hanging.clear()
  }
  return {
    url: receiver.url,
    behave() {
      isGood = true
      mood = 'accept'
      letGo()
    },
    confirmed,
    ended: change(),
  }
}
