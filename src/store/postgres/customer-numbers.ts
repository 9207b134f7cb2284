import type { Query } from './database.ts'

const FIND_NUMBERS = 'SELECT id, number FROM customer WHERE id = ANY ($1::text[])'

/** Caches the numbers by which deliveries name their customers. They never change. */
export interface CustomerNumbers {
  of(customerIds: readonly string[]): Promise<number[]>
}

export function createCustomerNumbers(lookUp: Query): CustomerNumbers {
  const numbers = new Map<string, number>()

  const find = async (customerIds: readonly string[]): Promise<number[]> => {
    const { rows } = await lookUp(FIND_NUMBERS, [...new Set(customerIds)])
    for (const { id, number } of rows) numbers.set(id as string, number as number)
    return customerIds.map((id) => {
      const number = numbers.get(id)
      if (number === undefined) throw new Error(`no customer ${id}`)
      return number
    })
  }

  return {
    async of(customerIds) {
      const known = customerIds.map((id) => numbers.get(id))
      return known.includes(undefined) ? find(customerIds) : (known as number[])
    },
  }
}
