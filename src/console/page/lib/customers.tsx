import { effect, signal } from '@preact/signals'
import type { Static } from '@sinclair/typebox'
import type { CustomersSchema } from '#src/customer/operators/operators.schema.ts'
import { get } from './api.ts'
import { visible } from './foreign.tsx'
import { isNobody } from './session.ts'

type Customers = Static<typeof CustomersSchema>
type Named = Pick<Customers['Customers'][number], 'CustomerID' | 'Name' | 'Email'>

/** What people call a customer: `Kitap A.Ş. <shop@example.com>`, or only the address of one that has no name. */
export const displayName = ({ Name, Email }: Pick<Named, 'Name' | 'Email'>): string =>
  Name === '' ? Email : `${Name} <${Email}>`

/** What people call customers, by id, where an answer has the id alone. */
const names = signal<ReadonlyMap<string, string>>(new Map())
const asked = new Set<string>()

effect(() => {
  if (!isNobody.value) return
  asked.clear()
  names.value = new Map()
})

/** Returns what people call a customer, or undefined until it is known. Asks for it once. */
export function nameOf(id: string): string | undefined {
  const name = names.value.get(id)
  if (name === undefined && id !== '' && !asked.has(id)) {
    asked.add(id)
    get<Customers>('/Operator/customers', { ids: id }).then(
      (found) => rememberCustomers(found.Customers),
      () => undefined,
    )
  }
  return name
}

/** Takes customers that were read elsewhere. */
export function rememberCustomers(customers: readonly Named[]): void {
  names.value = new Map([...names.peek(), ...customers.map((one) => [one.CustomerID, displayName(one)] as const)])
}

/** A customer by its name and e-mail address, which most answers have, or by its id until they are known. */
export const customerName = (id: string, name: string | undefined = nameOf(id)) => (
  <span class="foreign" title={id}>
    {visible(name ?? id)}
  </span>
)
