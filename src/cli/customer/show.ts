import { customerCommand } from './change.ts'

export const customerShow = customerCommand(
  'customer show',
  'Show one customer, named by e-mail address or id',
  [],
  (customers, who) => customers.show(who),
)
