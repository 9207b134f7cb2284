import type { Query, Row } from './database.ts'

const FIND = 'SELECT id, number FROM customer WHERE id = ANY ($1::text[])'

/** The numbers by which deliveries name their customers. They never change. */
export interface CustomerNumbers {
  /** Takes note of a row with `customer_id` and `number`, so that the customer's first delivery need not look it up. */
  learn(row: Row): void
  of(customerIds: readonly string[]): Promise<number[]>
}

export function createCustomerNumbers(lookUp: Query): CustomerNumbers {
  const numbers = new Map<string, number>()

  const find = async (customerIds: readonly string[]): Promise<number[]> => {
    const { rows } = await lookUp(FIND, [...new Set(customerIds)])
    for (const { id, number } of rows) numbers.set(id as string, number as number)
    return customerIds.map((id) => {
      const number = numbers.get(id)
      if (number === undefined) throw new Error(`no customer ${id}`)
      return number
    })
  }

  return {
    learn: ({ customer_id, number }) => void numbers.set(customer_id as string, number as number),
    async of(customerIds) {
      const known = customerIds.map((id) => numbers.get(id))
      return known.includes(undefined) ? find(customerIds) : (known as number[])
    },
  }
}
