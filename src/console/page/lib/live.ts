import { computed, effect, signal, untracked } from '@preact/signals'
import type { Frame } from '#src/console/live/live.schema.ts'
import { createRing } from './ring.ts'
import { bearer, end, isSignedIn, me, tokenRefused } from './session.ts'

/** Whether the user wants live data, and what happens: `connecting`, `live`, `paused` (by the user or a hidden tab), `lost`. */
export const wanted = signal(true)
export const state = signal<'connecting' | 'live' | 'paused' | 'lost'>('paused')
/** Whether data is read again and again: the switch is on, and the tab is visible. */
export const isOn = computed(() => state.value !== 'paused')
/** The newest frame of /Operator/live. */
export const frame = signal<Frame | undefined>(undefined)
/** Counts of the last 15 minutes by second. They change whenever `frame` does. */
export const ring = createRing()

const FIRST_PAUSE_MILLISECONDS = 500
const MAX_PAUSE_MILLISECONDS = 10_000
/** The server sends a frame each second. A connection that has been silent for so long is dead. */
const MAX_SILENCE_MILLISECONDS = 10_000

function forget() {
  ring.clear()
  frame.value = undefined
}

const DATA = 'data: '

/** Counts a frame, if this connection is still the one that counts. */
function take(event: string, signal: AbortSignal): boolean {
  const data = event.split('\n').find((line) => line.startsWith(DATA))
  if (data === undefined || signal.aborted) return false
  const taken: Frame = JSON.parse(data.slice(DATA.length))
  ring.add(taken)
  frame.value = taken
  state.value = 'live'
  return true
}

/** Reads server-sent events by fetch, because an EventSource cannot send a token. `onFrame` is called for each frame. */
async function read(signal: AbortSignal, onFrame: () => void): Promise<void> {
  const silence = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  const wait = () => {
    clearTimeout(timer)
    timer = setTimeout(() => silence.abort(), MAX_SILENCE_MILLISECONDS)
  }
  wait()
  try {
    const headers = { accept: 'text/event-stream', authorization: bearer() ?? '' }
    const either = AbortSignal.any([signal, silence.signal])
    const answer = await fetch('/Operator/live', { headers, signal: either, cache: 'no-store' })
    if (signal.aborted) return
    if (answer.status === 401) return await tokenRefused(headers.authorization)
    if (answer.status === 403) return end('expired')
    if (!answer.ok || answer.body === null) throw new Error(`status ${answer.status}`)
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader()
    let rest = ''
    for (;;) {
      const { value, done } = await reader.read()
      if (done) return
      wait()
      const events = (rest + value).split('\n\n')
      rest = events.pop() ?? ''
      for (const event of events) if (take(event, signal)) onFrame()
    }
  } finally {
    clearTimeout(timer)
  }
}

/** Pauses get longer while nothing answers, and differ, so that not all tabs come back at once. */
function pause(failures: number): Promise<void> {
  const longest = Math.min(FIRST_PAUSE_MILLISECONDS * 2 ** failures, MAX_PAUSE_MILLISECONDS)
  return new Promise((resolve) => setTimeout(resolve, longest * (0.5 + Math.random() / 2)))
}

async function follow(signal: AbortSignal): Promise<void> {
  let failures = 0
  const onFrame = () => {
    failures = 0
  }
  while (!signal.aborted) {
    const used = bearer()
    await read(signal, onFrame).catch(() => undefined)
    if (signal.aborted) return
    // A stream ends with its token, and goes on with the next one. If nothing came with that one, it is no reason to go on at once.
    if (used === bearer() || failures > 0) {
      state.value = 'lost'
      await pause(failures)
    }
    failures++
  }
}

const hidden = signal(document.hidden)
document.addEventListener('visibilitychange', () => {
  hidden.value = document.hidden
})

let follower: string | undefined
effect(() => {
  const user = me.value?.CustomerID
  if (user !== follower) {
    follower = user
    forget()
  }
  if (!isSignedIn.value || !wanted.value || hidden.value) {
    state.value = 'paused'
    return undefined
  }
  const connection = new AbortController()
  state.value = 'connecting'
  // The next token does not end what this one has begun.
  void untracked(() => follow(connection.signal))
  return () => connection.abort()
})
