import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http'
import { createLineSplitter } from '#src/lib/lines/line-splitter.ts'
import type { ServerAddress } from '../../input/server-address.ts'

export interface LineAnswer {
  /** Null for a last answer that says why the upload ended early. */
  readonly Line: number | null
  readonly success: boolean
  readonly data: { readonly Duplicate: boolean } | null
  readonly message: string
  readonly errorCode?: string
}

/** How a request ended: with all its answers, with a refusal of the whole, or broken off. */
export type UploadEnd =
  | { readonly kind: 'whole' }
  | { readonly kind: 'refused'; readonly status: number; readonly message: string; readonly errorCode: string }
  | { readonly kind: 'broken'; readonly reason: string }

interface UploadRequest {
  /** Resolves when more may be sent, or the request has ended. */
  send(line: Buffer): Promise<void>
  finish(): void
  cancel(): void
  readonly ended: Promise<UploadEnd>
}

interface UploadTarget {
  readonly server: ServerAddress
  readonly key: string
  readonly validates: boolean
  readonly onAnswer: (answer: LineAnswer) => void
}

const PATH = '/Purchase/updates'
const MAX_ANSWER = 64 * 1024 * 1024
/** Beyond the longest wait for the rate limit, which is a minute. */
const SILENCE_MILLISECONDS = 120_000

/** Sends lines in one request, and reads its answers meanwhile. */
export async function openUpload({ server, key, validates, onAnswer }: UploadTarget): Promise<UploadRequest> {
  const { request } = server.protocol === 'https:' ? await import('node:https') : await import('node:http')
  const { promise: ended, resolve } = Promise.withResolvers<UploadEnd>()
  const options: RequestOptions = {
    ...server,
    path: validates ? `${PATH}?validateOnly=true` : PATH,
    method: 'POST',
    agent: false,
    headers: { ApiKey: key, 'Content-Type': 'application/x-ndjson' },
  }
  const sending: ClientRequest = request(options)
  let isOver = false
  const end = (how: UploadEnd): void => {
    isOver = true
    resolve(how)
    sending.destroy()
  }
  const broken = (error: NodeJS.ErrnoException): void => end({ kind: 'broken', reason: error.code ?? error.message })
  sending.on('error', broken)
  sending.setTimeout(SILENCE_MILLISECONDS, () => end({ kind: 'broken', reason: 'the server is silent' }))
  sending.on('response', (response) => {
    readAnswer(response, onAnswer).then(end, broken)
  })

  return {
    ended,
    async send(line) {
      if (isOver || sending.write(line)) return
      const { promise: drained, resolve: onDrain } = Promise.withResolvers<void>()
      sending.once('drain', onDrain)
      await Promise.race([drained, ended])
      sending.off('drain', onDrain)
    },
    finish: () => void sending.end(),
    cancel: () => end({ kind: 'broken', reason: 'stopped' }),
  }
}

async function readAnswer(response: IncomingMessage, onAnswer: (answer: LineAnswer) => void): Promise<UploadEnd> {
  const { statusCode: status = 0 } = response
  const splitter = createLineSplitter(MAX_ANSWER)
  const lines: (Buffer | null)[] = []
  for await (const piece of response) {
    for (const { bytes } of splitter.take(piece)) {
      if (status === 200) onAnswer(JSON.parse(String(bytes)))
      else lines.push(bytes)
    }
  }
  if (status === 200) return { kind: 'whole' }
  const { message, errorCode } = refusalIn([...lines, ...splitter.rest().map(({ bytes }) => bytes)].join('\n'))
  return { kind: 'refused', status, message: message ?? `the server answered ${status}`, errorCode: errorCode ?? '' }
}

/** Empty if a proxy answered something else. */
function refusalIn(text: string): { readonly message?: string; readonly errorCode?: string } {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}
