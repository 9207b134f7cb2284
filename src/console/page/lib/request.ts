import type { FailureAnswer } from '#src/http/envelope.ts'

type Failure = Partial<FailureAnswer>

/** An answer that is no success. `code` is `NETWORK` if there was no answer. */
export class ApiError extends Error {
  readonly status: number
  readonly code: string
  readonly requestId: string | undefined
  readonly problems: NonNullable<Failure['errors']>
  readonly messageCode: string | undefined
  readonly messageValues: Failure['messageValues']
  /** Seconds. */
  readonly retryAfter: number | undefined

  constructor(status: number, answer: Failure | undefined, headers?: Headers) {
    super(answer?.message ?? '')
    this.status = status
    this.code = answer?.errorCode ?? 'UNKNOWN'
    this.requestId = answer?.requestId
    this.problems = answer?.errors ?? []
    this.messageCode = answer?.messageCode
    this.messageValues = answer?.messageValues
    this.retryAfter = Number(headers?.get('retry-after')) || undefined
  }
}

/** Returns an answer of any status but a refusal; throws an ApiError for that, or if there is none. */
export async function answered(path: string, options: RequestInit = {}): Promise<Response> {
  let answer: Response
  try {
    answer = await fetch(path, { cache: 'no-store', ...options })
  } catch (error) {
    if (options.signal?.aborted) throw error
    throw new ApiError(0, { errorCode: 'NETWORK' })
  }
  if (!answer.ok) throw new ApiError(answer.status, await answer.json().catch(() => undefined), answer.headers)
  return answer
}

/** Returns `data` of the envelope. */
export async function request<Data>(path: string, options?: RequestInit): Promise<Data> {
  const answer = await answered(path, options)
  const body = await answer.json().catch(() => undefined)
  if (body?.success !== true) throw new ApiError(answer.status, body, answer.headers)
  return body.data
}

/** The options of a POST with a JSON body; without one it has none. */
export const posting = (body?: object, headers: Record<string, string> = {}): RequestInit => ({
  method: 'POST',
  headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
  ...(body && { body: JSON.stringify(body) }),
})
