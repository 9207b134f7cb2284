import { customerCommand } from './change.ts'

export const customerDisable = customerCommand(
  'customer disable',
  'Shut a customer out; its tokens end at once',
  [],
  (customers, who) => customers.disable(who),
)
