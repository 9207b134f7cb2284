import { fetch } from './checked-fetch.ts'

export interface StreamEvent {
  readonly id: string | undefined
  readonly data: string
}

export interface StreamRequest {
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
}

/** The complete events of a stream (WHATWG HTML, "Server-sent events") until it ends. Throws its status unless that is 200. */
export async function* eventsOf(url: string, { headers, signal }: StreamRequest): AsyncGenerator<StreamEvent> {
  const answer = await fetch(url, { headers: { accept: 'text/event-stream', ...headers }, signal })
  if (answer.status !== 200) throw Object.assign(new Error(await answer.text()), { status: answer.status })
  let rest = ''
  for await (const text of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const events = (rest + text).split('\n\n')
    rest = events.pop() ?? ''
    for (const event of events) {
      const { id, data } = Object.fromEntries(
        Array.from(event.matchAll(/^(id|data): (.*)$/gm), ([, ...field]) => field),
      )
      if (data !== undefined) yield { id, data }
    }
  }
}
