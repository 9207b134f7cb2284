import type { CustomerStore } from '../store.ts'
import { CUSTOMER_COLUMNS, customerFromRow } from './customer-sql.ts'
import type { Database } from './database.ts'
import type { Writer } from './thread/writer.ts'

const SELECT = `SELECT ${CUSTOMER_COLUMNS} FROM customer c`

export function sqliteCustomers(database: Database, writer: Writer): CustomerStore {
  const find = (where: string, value: string) => {
    const row = database.get(`${SELECT} WHERE ${where}`, value)
    return row && customerFromRow(row)
  }

  return {
    insert: (customer) => writer.run('insertCustomer', [customer]),
    findById: async (id) => find('c.id = $1', id),
    findByEmail: async (email) => find('c.email = $1', email),
    list: async ({ afterId = '', limit }) =>
      database.all(`${SELECT} WHERE c.id > $1 ORDER BY c.id LIMIT $2`, afterId, limit).map(customerFromRow),
    setPassword: (id, hash, tokensValidFrom) => writer.run('setPassword', [id, hash, tokensValidFrom]),
    replacePasswordHash: (id, from, to) => writer.run('replacePasswordHash', [id, from, to]),
    enable: (id) => writer.run('enable', [id]),
    disable: (id, tokensValidFrom) => writer.run('disable', [id, tokensValidFrom]),
    revokeTokens: (id, tokensValidFrom) => writer.run('revokeTokens', [id, tokensValidFrom]),
    addAuthority: (id, rules) => writer.run('addAuthority', [id, rules]),
    removeAuthority: (id, rules) => writer.run('removeAuthority', [id, rules]),
  }
}
