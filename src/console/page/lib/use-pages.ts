import { effect } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { createPages } from './pages.ts'
import { entry, round } from './route.ts'
import { me } from './session.ts'

/** `usePages((place) => ..., [query], keyOf)` begins a new list whenever its inputs change. */
export function usePages(load, inputs, keyOf) {
  const latest = useRef(load)
  latest.current = load
  const pages = useMemo(() => {
    const place = `${entry()} ${round.value} ${JSON.stringify(inputs)}`
    const made = createPages((at) => latest.current(at), keyOf, kept.get(place))
    return Object.assign(made, { place })
  }, [JSON.stringify(inputs)])
  useEffect(() => {
    if (!pages.restored) void pages.more()
    return () => {
      pages.leave()
      keep(pages)
    }
  }, [pages])
  return pages
}

/** Lists that were left, by their entry of the browser's history: coming back shows the same rows at the same place. */
const kept = new Map()
const MAX_KEPT = 5

function keep({ place, state, top, height }) {
  const { rows, held, next, scanned, before, gap } = state.peek()
  if (me.peek() === undefined || rows.length === 0 || next === undefined) return
  kept.delete(place)
  kept.set(place, { rows, held, next, scanned, before, gap, top, height })
  if (kept.size > MAX_KEPT) kept.delete(kept.keys().next().value)
}

/** After a change, lists are read again. */
export const forgetPages = () => kept.clear()

// Nor does anybody see what somebody else has read.
effect(() => {
  if (me.value === undefined) forgetPages()
})
