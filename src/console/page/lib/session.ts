import { computed, signal } from '@preact/signals'
import { settings } from './settings.ts'

/** The token stays in this variable: reloading the page forgets it. */
const session = signal(undefined)
/** Why nobody is signed in: undefined at first, `expired`, or `left`. */
export const ended = signal(undefined)

export const me = computed(() => session.value?.me)
export const mayWrite = computed(() => me.value?.IsOperator === true && !me.value.IsReadOnly)
/** The rights of operators beside those that all of them have: what support lacks is not shown. */
export const mayRead = computed(() => me.value?.IsOperator === true && me.value.Scope !== 'operator:support')
export const seesPayloads = computed(() => me.value?.SeesPayloads === true)
export const bearer = () => session.value && `Bearer ${session.value.token}`

let expiry

/** The longest pause that setTimeout keeps to. */
const MAX_TIMER = 2 ** 31 - 1

/** Reads the lifetime from the token, because the clock of this machine may differ from the server's. */
function lifetimeOf(token) {
  const { iat, exp } = JSON.parse(atob(token.split('.')[1].replaceAll('-', '+').replaceAll('_', '/')))
  return (exp - iat) * 1000
}

function begin(token, me) {
  clearTimeout(expiry)
  expiry = setTimeout(() => end('expired'), Math.min(lifetimeOf(token), MAX_TIMER))
  ended.value = undefined
  session.value = { token, me }
}

/** Ends the session. The view stays in the address, and signing in again leads back to it. */
export function end(why) {
  clearTimeout(expiry)
  if (session.value === undefined) return
  session.value = undefined
  ended.value = why
}

const field = (data, name) => data[name] ?? data[name.toLowerCase()]

/** Signs in by the login of API customers. Throws an error with a `code`. */
export async function signIn({ email, password, region }) {
  const data = await request('/Login/Customer/Api/Verify', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(region && { 'h-region-code': region }) },
    body: JSON.stringify({ [settings.loginEmailField]: email, Password: password }),
  })
  const token = field(data, 'Token')
  const me = await request('/Customer/Get', { headers: { authorization: `Bearer ${token}` } })
  if (!me.IsOperator) throw new ApiError(403, { errorCode: 'OPERATOR_REQUIRED' })
  begin(token, me)
}

/** An answer that is no success. `code` is `NETWORK` if there was no answer. */
export class ApiError extends Error {
  constructor(status, answer, headers) {
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

/** Returns `data` of the envelope; throws an ApiError for anything but a success. */
export async function request(path, options) {
  const answer = await answered(path, options)
  const body = await answer.json().catch(() => undefined)
  if (!answer.ok || body?.success !== true) throw new ApiError(answer.status, body, answer.headers)
  return body.data
}

export async function answered(path, options) {
  try {
    return await fetch(path, { cache: 'no-store', ...options })
  } catch (error) {
    if (error.name === 'AbortError') throw error
    throw new ApiError(0, { errorCode: 'NETWORK' })
  }
}
