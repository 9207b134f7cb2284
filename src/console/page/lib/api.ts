import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError, answered, bearer, end, request } from './session.ts'

const authorized = (headers) => ({ authorization: bearer() ?? '', ...headers })

/** A token that was revoked or has expired leads back to the sign-in. */
async function signedIn(work) {
  const token = bearer()
  try {
    return await work()
  } catch (error) {
    if (error.status === 401 && token === bearer()) end('expired')
    throw error
  }
}

export const addressOf = (path, parameters = {}) => {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== '')
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
  return query ? `${path}?${query}` : path
}

/** Reads `data` of a route. Parameters that are undefined or empty are not sent. */
export const get = (path, parameters, { signal } = {}) =>
  signedIn(() => request(addressOf(path, parameters), { headers: authorized(), signal }))

/** Sends an action; `body` may be left out. */
export const post = (path, body) =>
  signedIn(() =>
    request(path, {
      method: 'POST',
      headers: authorized(body && { 'content-type': 'application/json' }),
      ...(body && { body: JSON.stringify(body) }),
    }),
  )

/** Reads the exact bytes of a route that answers without the envelope, such as a payload, and their SHA-256 if the server says it. */
export const getBytes = (path, { signal } = {}) =>
  signedIn(async () => {
    const answer = await answered(path, { headers: authorized(), signal })
    if (!answer.ok) throw new ApiError(answer.status, await answer.json().catch(() => undefined), answer.headers)
    return { bytes: new Uint8Array(await answer.arrayBuffer()), digest: digestIn(answer.headers) }
  })

/** The SHA-256 in a `Repr-Digest` (RFC 9530), in hexadecimal. */
const digestIn = (headers: Headers) => {
  const [, base64] = /\bsha-256=:([^:]*):/.exec(headers.get('repr-digest') ?? '') ?? []
  return base64 && [...atob(base64)].map((byte) => byte.charCodeAt(0).toString(16).padStart(2, '0')).join('')
}

/**
 * Loads something whenever one of `inputs` changes: `useLoad((signal) => get(path, query, { signal }), [path, query])`. What was loaded
 * before stays until the new data is there, so that nothing jumps.
 */
export function useLoad(load, inputs) {
  const [state, setState] = useState({ data: undefined, error: undefined, loading: true })
  const [round, setRound] = useState(0)
  const latest = useRef(load)
  latest.current = load
  useEffect(() => {
    const leaving = new AbortController()
    setState(({ data }) => ({ data, error: undefined, loading: true }))
    latest.current(leaving.signal).then(
      (data) => !leaving.signal.aborted && setState({ data, error: undefined, loading: false }),
      (error) => !leaving.signal.aborted && setState(({ data }) => ({ data, error, loading: false })),
    )
    return () => leaving.abort()
  }, [round, ...inputs.map((input) => JSON.stringify(input))])
  return { ...state, reload: () => setRound((before) => before + 1) }
}
