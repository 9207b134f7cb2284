import { batch, computed, signal } from '@preact/signals'
import type { SessionAnswer } from '#src/console/session/session.schema.ts'
import { ApiError, posting, request } from './request.ts'
import { endQuestion, question } from './session/question.ts'

export type Session = NonNullable<SessionAnswer['Session']>
export type Me = Session['Customer']

/** Who is signed in; also for a while after the session ended: who was, and may continue. */
export const me = signal<Me | undefined>(undefined)
/** It stays in this variable. A reload asks the server for another one, by the cookie that no script sees. */
const token = signal<string | undefined>(undefined)
/** Whether it is still to be found out who is signed in. */
export const isStarting = signal(true)
/** Why nobody is signed in: undefined at first. `open`: somebody wanted to sign out, and the server did not answer. */
export const ended = signal<'expired' | 'left' | 'open' | undefined>(undefined)
/** Whether there is one session for all tabs, which a reload does not end. */
export const isShared = signal(true)

export const isSignedIn = computed(() => token.value !== undefined)
/** Whether all that was shown and typed is still there, and hidden. */
export const isHeld = computed(() => !isSignedIn.value && me.value !== undefined)
/** Whether everything has to be forgotten that others must not see. */
export const isNobody = computed(() => !isStarting.value && me.value === undefined)
export const mayWrite = computed(() => me.value?.IsOperator === true && !me.value.IsReadOnly)
/** The rights of operators beside those that all of them have: what support lacks is not shown. */
export const mayRead = computed(() => me.value?.IsOperator === true && me.value.Scope !== 'operator:support')
export const seesPayloads = computed(() => me.value?.SeesPayloads === true)
export const bearer = () => token.value && `Bearer ${token.value}`

const HELD_MILLISECONDS = 10 * 60_000
const ASK_SECONDS = 120
const AGAIN_MILLISECONDS = 10_000
const START_MILLISECONDS = 500
/** The longest pause that setTimeout keeps to, in seconds. */
const MAX_SECONDS = 2 ** 31 / 1000 - 1

let timer: ReturnType<typeof setTimeout> | undefined
/** When the session ends, by a clock that nobody changes. */
let endsAt = 0
/** Whether a key or a button was pressed since the server was told. */
let isTouched = false
/** The customer whose data may be in the memory of this page. */
let customer: string | undefined
/** Counts when a session begins or ends here. What was asked before says nothing of what has begun or ended since. */
let changes = 0
/** Counts when a session ends here. An action that was asked for before must not go on after it, whoever signs in. */
let endings = 0
export const sessionsEnded = () => endings

const channel = new BroadcastChannel('teslim.session')
/** Tells the other tabs. */
export const tell = (what: 'began' | 'ended', customer?: string) => channel.postMessage({ what, customer })
channel.onmessage = ({ data }) => {
  if (!isShared.value) return
  if (data.what === 'ended') end('left')
  else if (me.value !== undefined && data.customer !== customer) startAnew()
  else void renewAgain()
}

const onInput = () => {
  isTouched = true
  if (question.value === 'idle') void renewAgain()
}
for (const name of ['keydown', 'pointerdown']) addEventListener(name, onInput, { capture: true })

/** Somebody else has signed in: nothing that is in memory may be drawn again. */
function startAnew() {
  batch(() => {
    token.value = undefined
    me.value = undefined
  })
  isStarting.value = true
  location.reload()
}

export function begin(session: Session) {
  if (customer !== undefined && customer !== session.Customer.CustomerID && isShared.value) return startAnew()
  customer = session.Customer.CustomerID
  changes++
  const left = Math.min(session.IdleSeconds, session.EndSeconds)
  endsAt = performance.now() + left * 1000
  const isEnding = isShared.value && left <= ASK_SECONDS
  clearTimeout(timer)
  // Once it has ended for the server, too.
  const over = Math.min(left + 1, MAX_SECONDS)
  const pause = isEnding || !isShared.value ? over : Math.min(session.TokenSeconds * 0.8, left - ASK_SECONDS)
  timer = setTimeout(check, 1000 * pause)
  batch(() => {
    isStarting.value = false
    ended.value = undefined
    // The same again would draw everything anew.
    if (JSON.stringify(me.value) !== JSON.stringify(session.Customer)) me.value = session.Customer
    token.value = session.Token
    if (isEnding) question.value ??= session.EndSeconds <= session.IdleSeconds ? 'end' : 'idle'
    else if (question.value !== 'password') question.value = undefined
  })
}

/** Gets another token before this one ends, and finds out whether the session has ended. */
async function check() {
  if (!isShared.value) return end('expired')
  const before = changes
  try {
    await renew()
  } catch {
    if (before !== changes) return
    // The server may be away for a moment. What it does not know is not prolonged.
    if (performance.now() >= endsAt) end('expired')
    else timer = setTimeout(check, AGAIN_MILLISECONDS)
  }
}

let renewing: Promise<void> | undefined

/** Asks for a token, and says whether somebody is there. */
function renew(): Promise<void> {
  renewing ??= askForToken().finally(() => {
    renewing = undefined
  })
  return renewing
}

/** Says what the one that is under way may have been too early to say. */
async function renewAgain() {
  const before = me.value
  await renewing?.catch(() => undefined)
  // Somebody signed out meanwhile.
  if (before !== undefined && me.value === undefined) return
  await renew().catch(() => undefined)
}

async function askForToken() {
  const before = changes
  const Active = isTouched
  isTouched = false
  const { Possible, Session } = await request<SessionAnswer>('/console/session/token', posting({ Active })).catch(
    (error) => {
      if (error.status === 401) return { Possible: true, Session: null }
      throw error
    },
  )
  isShared.value = Possible
  if (before !== changes) return
  if (Session === null) end('expired')
  else begin(Session)
}

/** Finds out who is signed in already. */
export async function start(triesLeft = 5) {
  try {
    await renew()
  } catch (error) {
    // Where the server cannot tell its own page from others, a cookie protects nobody.
    if (error instanceof ApiError && error.status === 403) isShared.value = false
    else if (triesLeft > 0) {
      // It may have too much to do for a moment. Nobody should enter a password for that.
      await new Promise((resolve) => setTimeout(resolve, START_MILLISECONDS))
      return start(triesLeft - 1)
    }
  }
  isStarting.value = false
}

/** Ends the session here. The view stays in the address, and signing in again leads back to it. */
export function end(why: 'expired' | 'left' | 'open') {
  changes++
  endings++
  clearTimeout(timer)
  endQuestion()
  batch(() => {
    if (me.value !== undefined) ended.value = why
    token.value = undefined
    // Where each tab signs in by itself nothing is held: a reload, which clears the tab for somebody else, would end the new session, too.
    if (why !== 'expired' || !isShared.value) me.value = undefined
  })
  if (!isHeld.value) return
  timer = setTimeout(() => {
    me.value = undefined
  }, HELD_MILLISECONDS)
}

/** Gets another token after one was refused; ends the session if there is none. */
export async function tokenRefused(used: string | undefined) {
  if (used !== bearer()) return
  if (isShared.value) await renew()
  if (used === bearer()) end('expired')
}

/** Resolves once somebody is signed in. */
export const whenSignedIn = (leaving?: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    if (isSignedIn.peek()) return resolve()
    const stop = isSignedIn.subscribe((is) => {
      if (is) resolve(queueMicrotask(() => stop()))
    })
    leaving?.addEventListener('abort', () => {
      stop()
      reject(leaving.reason)
    })
  })
