import { ApiError, answered, posting, request } from './request.ts'
import { type Parameters, withQuery } from './route.ts'
import { askPassword } from './session/question.ts'
import { bearer, me, sessionsEnded, tokenRefused, whenSignedIn } from './session.ts'

type Signal = AbortSignal | undefined

/**
 * Sends with the token of the session. What was refused because the token has ended is sent again with the next one. A reading waits
 * until somebody is signed in; an action ends with the session in which it was asked for, or it would happen when nobody expects it
 * any more. Whoever signs in next neither repeats nor gets what somebody else asked for.
 */
async function signedIn<Data>(
  send: (headers: { readonly authorization: string }) => Promise<Data>,
  signal?: Signal,
  isAction = false,
): Promise<Data> {
  const asking = me.peek()?.CustomerID
  const ended = sessionsEnded()
  const isSame = () => me.peek()?.CustomerID === asking
  const mayStill = () => isSame() && !(isAction && ended !== sessionsEnded())
  let refusal = new ApiError(401, { errorCode: 'TOKEN_EXPIRED' })
  for (let tries = 1; ; tries++) {
    if (!isAction) await whenSignedIn(signal)
    const used = bearer()
    if (used === undefined || !mayStill()) throw refusal
    try {
      const data = await send({ authorization: used })
      if (isSame()) return data
    } catch (error) {
      if (!(error instanceof ApiError) || tries > 2) throw error
      refusal = error
      if (error.status === 401) await tokenRefused(used)
      else if (error.code !== 'REAUTHENTICATION_REQUIRED' || !(await askPassword())) throw error
    }
  }
}

/** Reads `data` of a route. Parameters that are undefined or empty are not sent. */
export const get = <Data>(path: string, parameters?: Parameters, signal?: Signal): Promise<Data> =>
  signedIn((headers) => request<Data>(withQuery(path, parameters), { headers, signal: signal ?? null }), signal)

/** Sends an action; `body` may be left out. */
export const post = <Data>(path: string, body?: object, signal?: Signal): Promise<Data> =>
  signedIn((headers) => request<Data>(path, { ...posting(body, headers), signal: signal ?? null }), signal, true)

/** Begins to read a list as a file of a media type. */
export const getFile = (path: string, parameters: Parameters, accept: string, signal: AbortSignal): Promise<Response> =>
  signedIn((headers) => answered(withQuery(path, parameters), { headers: { ...headers, accept }, signal }), signal)

/** Reads the exact bytes of a route that answers without the envelope, such as a payload, and their SHA-256 if the server says it. */
export const getBytes = (path: string, signal: AbortSignal) =>
  signedIn(async (headers) => {
    const answer = await answered(path, { headers, signal })
    return { bytes: new Uint8Array(await answer.arrayBuffer()), digest: digestIn(answer.headers) }
  }, signal)

/** The SHA-256 in a `Repr-Digest` (RFC 9530), in hexadecimal. */
const digestIn = (headers: Headers) => {
  const [, base64] = /\bsha-256=:([^:]*):/.exec(headers.get('repr-digest') ?? '') ?? []
  return base64 && [...atob(base64)].map((byte) => byte.charCodeAt(0).toString(16).padStart(2, '0')).join('')
}
