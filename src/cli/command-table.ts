import type { Command } from './command.ts'
import { config } from './config.ts'
import { copy } from './copy.ts'
import { customerAdd } from './customer-add.ts'
import { customerAllow } from './customer-allow.ts'
import { customerDisable } from './customer-disable.ts'
import { customerDisallow } from './customer-disallow.ts'
import { customerEnable } from './customer-enable.ts'
import { customerList } from './customer-list.ts'
import { customerSetPassword } from './customer-set-password.ts'
import { customerShow } from './customer-show.ts'
import { health } from './health.ts'
import { keyIssue } from './key-issue.ts'
import { keyList } from './key-list.ts'
import { keyRevoke } from './key-revoke.ts'
import { migrate } from './migrate.ts'
import { serve } from './serve.ts'

/** Every command there is; the help is printed from it. */
export const commands: readonly Command[] = [
  serve,
  health,
  migrate,
  copy,
  config,
  customerAdd,
  customerList,
  customerShow,
  customerSetPassword,
  customerEnable,
  customerDisable,
  customerAllow,
  customerDisallow,
  keyIssue,
  keyList,
  keyRevoke,
]
