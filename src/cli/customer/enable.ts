import { customerCommand } from './change.ts'

export const customerEnable = customerCommand(
  'customer enable',
  'Let a disabled customer in again',
  [],
  (customers, who) => customers.enable(who),
)
