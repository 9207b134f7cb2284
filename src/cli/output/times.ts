import { isoMilliseconds } from '#src/lib/clock.ts'

export interface Times {
  readonly zone: 'UTC' | 'local'
  /** `2026-11-26 10:42:05 +03:00` or `2026-11-26 07:42:05 UTC`. */
  text(milliseconds: number): string
  /** For sentences: as `text` in local time, and `2026-11-26T07:42:05.123Z` in UTC. */
  stamp(milliseconds: number): string
  /** Heads a column of such times in a `table`, which moves the zone that they share into the heading. */
  heading(name: string): string
}

export const utcTimes: Times = {
  zone: 'UTC',
  text: (milliseconds) => `${dateTime(milliseconds)} UTC`,
  stamp: isoMilliseconds,
  heading: (name) => `${name} (UTC)`,
}

/** In the zone of this process, which TZ names. */
export const localTimes: Times = {
  zone: 'local',
  text: localText,
  stamp: localText,
  heading: (name) => `${name} (local)`,
}

const dateTime = (milliseconds: number): string => new Date(milliseconds).toISOString().slice(0, -5).replace('T', ' ')

function localText(milliseconds: number): string {
  const offset = -new Date(milliseconds).getTimezoneOffset()
  return `${dateTime(milliseconds + offset * 60_000)} ${offset === 0 ? 'UTC' : offsetText(offset)}`
}

function offsetText(minutes: number): string {
  const [hours, rest] = [Math.abs(minutes) / 60, Math.abs(minutes) % 60].map((part) =>
    String(Math.floor(part)).padStart(2, '0'),
  )
  return `${minutes < 0 ? '-' : '+'}${hours}:${rest}`
}

const TIME = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d(?::\d\d)?) (UTC|[+-]\d\d:\d\d)$/

export const withoutZone = (text: string): string => text.replace(TIME, '$1 $2')

/** The zone that all times among some texts share. There is none if one occurs twice, when clocks are set back: it needs its offset. */
export function sharedZone(texts: readonly string[], zone: Times['zone']): string | undefined {
  const found = new Set<string>()
  for (const text of texts) {
    const [, day, time, offset] = TIME.exec(text) ?? []
    if (offset === undefined) continue
    const [read, meant] = ['', offset === 'UTC' ? 'Z' : offset].map((end) => Date.parse(`${day}T${time}${end}`))
    if (zone === 'local' && read !== meant) return undefined
    found.add(offset)
  }
  const [shared] = found
  return found.size === 1 ? shared : undefined
}

const HEADING = /^(.*) \((UTC|local)\)$/

/** Moves the zone that all times of a column share into its heading. */
export function withZonesAbove(heading: readonly string[], rows: readonly (readonly string[])[]) {
  const columns = heading.map((text, column) => {
    const [, name, kind] = HEADING.exec(text) ?? []
    if (name === undefined) return { heading: text }
    const times = rows.map((row) => row[column] ?? '')
    const zone = sharedZone(times, kind as Times['zone'])
    if (zone !== undefined) return { heading: `${name} (${zone})`, zone }
    return { heading: kind === 'UTC' ? text : name }
  })
  return {
    heading: columns.map(({ heading }) => heading),
    rows: rows.map((row) => row.map((cell, column) => (columns[column]?.zone ? withoutZone(cell) : cell))),
  }
}
