import { customerCommand } from './change.ts'

export const customerDisallow = customerCommand(
  'customer disallow',
  'Take authority rules back, spelled as they were given',
  ['RULE...'],
  (customers, who, rules) => customers.disallow(who, rules),
)
