import { signal } from '@preact/signals'
import { get } from './api.js'
import { visible } from './foreign.js'
import { html } from './html.js'

/** E-mail addresses by customer id; null for customers that are unknown. */
const emails = signal(new Map())
const wanted = new Set()
const MAX_AT_ONCE = 100
const WAIT_MILLISECONDS = 20
/** Whether a question is about to be sent. */
let waiting = false

function askSoon() {
  if (!waiting) setTimeout(ask, WAIT_MILLISECONDS)
  waiting = true
}

async function ask() {
  waiting = false
  const ids = [...wanted].slice(0, MAX_AT_ONCE)
  for (const id of ids) wanted.delete(id)
  if (wanted.size > 0) askSoon()
  const found = await get('/Operator/customers', { ids: ids.join(','), limit: MAX_AT_ONCE }).catch(() => undefined)
  if (found === undefined) return
  const added = found.Customers.map(({ CustomerID, Email }) => [CustomerID, Email])
  emails.value = new Map([...emails.peek(), ...ids.map((id) => [id, null]), ...added])
}

/** Returns a customer's e-mail address, or undefined until it is known. Asks for it once. */
export function emailOf(id) {
  const email = emails.value.get(id)
  if (email === undefined && id) {
    wanted.add(id)
    askSoon()
  }
  return email ?? undefined
}

/** Takes customers that were read elsewhere. */
export function rememberCustomers(customers) {
  emails.value = new Map([...emails.peek(), ...customers.map(({ CustomerID, Email }) => [CustomerID, Email])])
}

/** A customer by its e-mail address, or by its id until the address is known. */
export const customerName = (id) => html`<span class="foreign" title=${id}>${visible(emailOf(id) ?? id)}</span>`
