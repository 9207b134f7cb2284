import { effect, signal } from '@preact/signals'
import type { Static } from '@sinclair/typebox'
import type { CustomersSchema } from '#src/customer/operators/operators.schema.ts'
import { get } from './api.ts'
import { visible } from './foreign.tsx'
import { isNobody } from './session.ts'

export type Customers = Static<typeof CustomersSchema>
export type Customer = Customers['Customers'][number]

/** What people call a customer: `Kitap A.Ş. <shop@example.com>`, or only the address of one that has no name. */
export const displayName = ({ Name, Email }: Pick<Customer, 'Name' | 'Email'>): string =>
  Name === '' ? Email : `${Name} <${Email}>`

/** Customers of which an address has the id alone. All others come with their names. */
const names = signal<ReadonlyMap<string, string>>(new Map())
const asked = new Set<string>()
const IS_ID = /^[0-9a-f-]{36}$/

async function ask(id: string): Promise<void> {
  asked.add(id)
  const { Customers } = await get<Customers>('/Operator/customers', { ids: id }).catch(() => ({ Customers: [] }))
  for (const customer of Customers) names.value = new Map(names.peek()).set(id, displayName(customer))
}

/** After a change of a name, it is asked for again. */
export function forgetNames(): void {
  asked.clear()
  names.value = new Map()
}

effect(() => {
  if (isNobody.value) forgetNames()
})

/** Returns what people call a customer, or undefined until it is known. Asks for it once. */
export function nameOf(id: string): string | undefined {
  if (IS_ID.test(id) && !asked.has(id)) void ask(id)
  return names.value.get(id)
}

/** A customer by its name and e-mail address, or by its id until they are known. Answers have both in `Customer`, the `name`. */
export const customerName = (id: string, name: string | undefined = nameOf(id)) => (
  <span class="foreign" title={id}>
    {visible(name ?? id)}
  </span>
)
