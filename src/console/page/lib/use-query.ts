import { effect, untracked } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { get } from './api.ts'
import { isOn } from './live.ts'
import type { ApiError } from './request.ts'
import type { Parameters } from './route.ts'

const PAUSE_MILLISECONDS = 3000
/** What takes the server long is read less often. */
const PAUSES_EACH = 10

interface State<Data> {
  readonly data: Data | undefined
  readonly error: ApiError | undefined
  readonly loading: boolean
}

export interface Read<Data> extends State<Data> {
  reload(): Promise<void>
}

/** Loads `data` of a route. */
export const useGet = <Data>(
  path: string,
  parameters?: Parameters,
  options?: { readonly isFresh: boolean },
): Read<Data> => useQuery((signal) => get(path, parameters, signal), [path, parameters], options)

/**
 * Loads something whenever one of `inputs` changes: `useQuery((signal) => get(path, query, signal), [path, query])`. With `isFresh`,
 * it is loaded again every few seconds while Live is on and the tab is visible. What was loaded before stays until the new data is there,
 * so that nothing jumps, and also when it cannot be loaded again: then there are `data` and `error`.
 */
export function useQuery<Data>(
  load: (signal: AbortSignal) => Promise<Data>,
  inputs: readonly unknown[],
  { isFresh = false } = {},
): Read<Data> {
  const [state, setState] = useState<State<Data>>({ data: undefined, error: undefined, loading: true })
  const latest = useRef(load)
  latest.current = load
  const read = useRef(() => Promise.resolve())
  useEffect(() => {
    let reading = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    let isLoaded = false
    read.current = async () => {
      clearTimeout(timer)
      reading.abort()
      reading = new AbortController()
      const { signal } = reading
      const began = performance.now()
      if (!isFresh) setState(({ data }) => ({ data, error: undefined, loading: true }))
      const outcome = await latest.current(signal).then(
        (data) => ({ data, error: undefined }),
        // `load` rejects with nothing else.
        (error: ApiError) => ({ error }),
      )
      if (signal.aborted) return
      isLoaded ||= outcome.error === undefined
      // What was loaded for other inputs goes.
      setState(({ data }) => ({ data: isLoaded ? data : undefined, ...outcome, loading: false }))
      const pause = Math.max(PAUSE_MILLISECONDS, PAUSES_EACH * (performance.now() - began))
      if (isFresh && isOn.peek()) timer = setTimeout(read.current, pause)
    }
    let isFirst = true
    const stop = effect(() => {
      if ((isFresh && isOn.value) || isFirst) void untracked(read.current)
      else clearTimeout(timer)
      isFirst = false
    })
    return () => {
      stop()
      clearTimeout(timer)
      reading.abort()
    }
  }, [isFresh, ...inputs.map((input) => JSON.stringify(input))])
  return { ...state, reload: () => read.current() }
}
