import { fractions } from '../../../support/random.ts'
import { type Draw, FAULTS, type Fault } from './faults.ts'
import type { Site } from './site.ts'

export interface Planned {
  readonly fault: Fault
  /** Milliseconds until it begins, and how long it is on. */
  readonly delay: number
  readonly lasts: number
  readonly draw: Draw
}

/** Faults that are on together, the room on a small disk, and the milliseconds of quiet after them. */
export interface Round {
  readonly planned: readonly Planned[]
  /** In bytes. */
  readonly room: number
  readonly quiet: number
}

const SHARE_OF_PAIRS = 0.4
const MAX_DELAY = 1500
/** Less than the log may take (64 MiB), or enough for a backup beside it, in bytes. */
const ROOMS = [32 * 2 ** 20, 110 * 2 ** 20] as const
const QUIET = [300, 1500] as const

/** Rounds without end of faults with such a name, the same for the same seed: every fault comes once before one comes again. */
export function* rounds({ store, disk }: Pick<Site, 'store' | 'disk'>, only = /(?:)/): Generator<Round> {
  const possible = FAULTS.filter(
    (fault) => (fault.store ?? store) === store && !(fault.needsDisk && disk === undefined) && only.test(fault.name),
  )
  const draw = fractions(`faults of ${store}`)
  const between = ([from, to]: readonly [number, number]): number => Math.round(from + draw() * (to - from))
  let deck: Fault[] = []
  for (let number = 0; ; number++) {
    if (deck.length === 0) deck = shuffled(possible, draw)
    const first = deck.pop() as Fault
    const second =
      draw() < SHARE_OF_PAIRS
        ? deck.findLast(({ takes }) => !takes.some((each) => first.takes.includes(each)))
        : undefined
    deck = deck.filter((fault) => fault !== second)
    const planned = [first, ...(second ? [second] : [])].map((fault, index) => ({
      fault,
      delay: index * Math.round(draw() * MAX_DELAY),
      lasts: between(fault.lasts),
      draw: fractions(`${store} ${number} ${index}`),
    }))
    yield { planned, room: draw() < 0.5 ? ROOMS[0] : ROOMS[1], quiet: between(QUIET) }
  }
}

function shuffled<T>(items: readonly T[], draw: Draw): T[] {
  const left = [...items]
  return items.map(() => left.splice(Math.floor(draw() * left.length), 1)[0] as T)
}
