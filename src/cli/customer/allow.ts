import { customerCommand } from './change.ts'

export const customerAllow = customerCommand(
  'customer allow',
  'Let a customer deliver more products',
  ['RULE...'],
  (customers, who, rules) => customers.allow(who, rules),
)
