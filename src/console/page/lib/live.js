import { effect, signal } from '@preact/signals'
import { bearer, end, me } from './session.js'

/** Whether the user wants live data, and what happens: `connecting`, `live`, `paused` (by the user or a hidden tab), `lost`. */
export const wanted = signal(true)
export const state = signal('paused')
/** The newest frame of /Operator/live. */
export const frame = signal(undefined)

const AGAIN_MILLISECONDS = 2000

let lastId
let connection

/** Reads server-sent events by fetch, because an EventSource cannot send a token. */
async function read(signal) {
  const headers = {
    accept: 'text/event-stream',
    authorization: bearer() ?? '',
    ...(lastId && { 'last-event-id': lastId }),
  }
  const answer = await fetch('/Operator/live', { headers, signal, cache: 'no-store' })
  if (answer.status === 401) return end('expired')
  if (!answer.ok) throw new Error(`status ${answer.status}`)
  let rest = ''
  for await (const text of answer.body.pipeThrough(new TextDecoderStream())) {
    const events = (rest + text).split('\n\n')
    rest = events.pop()
    for (const event of events) take(event)
  }
}

function take(event) {
  const lines = event.split('\n')
  const fieldsOf = (name) =>
    lines.filter((line) => line.startsWith(name)).map((line) => line.slice(name.length).trimStart())
  const data = fieldsOf('data:').join('\n')
  if (data === '') return
  lastId = fieldsOf('id:')[0] ?? lastId
  state.value = 'live'
  frame.value = JSON.parse(data)
}

async function follow(signal) {
  while (!signal.aborted) {
    await read(signal).catch(() => undefined)
    if (signal.aborted) return
    state.value = 'lost'
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MILLISECONDS))
  }
}

const hidden = signal(document.hidden)
document.addEventListener('visibilitychange', () => {
  hidden.value = document.hidden
})

let follower
effect(() => {
  const now = me.value?.CustomerID
  if (now !== follower) {
    follower = now
    lastId = undefined
    frame.value = undefined
  }
  connection?.abort()
  if (now === undefined || !wanted.value || hidden.value) {
    state.value = 'paused'
    return
  }
  connection = new AbortController()
  state.value = 'connecting'
  void follow(connection.signal)
})
