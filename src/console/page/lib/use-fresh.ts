import { effect, untracked } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { isOn } from './live.ts'

const PAUSE_MILLISECONDS = 3000
/** What takes the server long is read less often. */
const PAUSES_EACH = 10

/**
 * Loads something, and again every few seconds while Live is on and the tab is visible. What was read before stays when a later
 * reading fails: then there are `data` and `error`.
 */
export function useFresh(load, inputs) {
  const [state, setState] = useState({ data: undefined, error: undefined })
  const latest = useRef(load)
  latest.current = load
  const read = useRef()
  useEffect(() => {
    const leaving = new AbortController()
    const set = (change) => leaving.signal.aborted || setState(change)
    let timer
    let reading = false
    let again = false

    const once = async () => {
      clearTimeout(timer)
      again = reading
      if (reading) return
      reading = true
      const began = performance.now()
      await latest.current(leaving.signal).then(
        (data) => set({ data, error: undefined }),
        (error) => set(({ data }) => ({ data, error })),
      )
      reading = false
      const pause = again ? 0 : Math.max(PAUSE_MILLISECONDS, PAUSES_EACH * (performance.now() - began))
      if (!leaving.signal.aborted && (again || isOn.peek())) timer = setTimeout(once, pause)
    }

    read.current = once
    let first = true
    const stop = effect(() => {
      if (isOn.value || first) void untracked(once)
      else clearTimeout(timer)
      first = false
    })
    return () => {
      leaving.abort()
      clearTimeout(timer)
      stop()
    }
  }, inputs)
  return { ...state, reload: () => read.current() }
}
