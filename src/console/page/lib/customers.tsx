import { signal } from '@preact/signals'
import type { Static } from '@sinclair/typebox'
import type { CustomersSchema } from '#src/customer/operators/operators.schema.ts'
import { get } from './api.ts'
import { visible } from './foreign.tsx'

type Customers = Static<typeof CustomersSchema>
type Named = Pick<Customers['Customers'][number], 'CustomerID' | 'Name' | 'Email'>

/** What people call a customer: `Kitap A.Ş. <shop@example.com>`, or only the address of one that has no name. */
export const displayName = ({ Name, Email }: Pick<Named, 'Name' | 'Email'>): string =>
  Name === '' ? Email : `${Name} <${Email}>`

/** What people call customers, by id; null for one that there is not. */
const names = signal(new Map<string, string | null>())
const wanted = new Set<string>()
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
  names.value = new Map([...names.peek(), ...ids.map((id) => [id, null] as const)])
  rememberCustomers(found.Customers)
}

/** Returns what people call a customer, or undefined until it is known. Asks for it once. */
export function nameOf(id: string): string | undefined {
  const name = names.value.get(id)
  if (name === undefined && id) {
    wanted.add(id)
    askSoon()
  }
  return name ?? undefined
}

/** Takes customers that were read elsewhere. */
export function rememberCustomers(customers: readonly Named[]): void {
  names.value = new Map([...names.peek(), ...customers.map((one) => [one.CustomerID, displayName(one)] as const)])
}

/** A customer by its name and e-mail address, or by its id until they are known. Answers with `Customer` have both: they are the `name`. */
export const customerName = (id: string, name: string | undefined = nameOf(id)) => (
  <span class="foreign" title={id}>
    {visible(name ?? id)}
  </span>
)
