import { auditList } from './audit-list.ts'
import type { Command } from './command.ts'
import { config } from './config.ts'
import { copy } from './copy.ts'
import { customerAdd } from './customer/add.ts'
import { customerAllow } from './customer/allow.ts'
import { customerDisable } from './customer/disable.ts'
import { customerDisallow } from './customer/disallow.ts'
import { customerEnable } from './customer/enable.ts'
import { customerList } from './customer/list.ts'
import { customerSetPassword } from './customer/set-password.ts'
import { customerShow } from './customer/show.ts'
import { deliveryExport } from './delivery/export.ts'
import { deliveryList } from './delivery/list.ts'
import { deliveryShow } from './delivery/show.ts'
import { doctor } from './doctor/doctor.ts'
import { health } from './health.ts'
import { keyIssue } from './key/issue.ts'
import { keyList } from './key/list.ts'
import { keyRevoke } from './key/revoke.ts'
import { keyRotate } from './key/rotate.ts'
import { migrate } from './migrate.ts'
import { orderList } from './order/list.ts'
import { orderShow } from './order/show.ts'
import { serve } from './serve.ts'
import { signingKeyList } from './signing-key/list.ts'
import { signingKeyRewrap } from './signing-key/rewrap.ts'
import { signingKeyRotate } from './signing-key/rotate.ts'
import { tokenRevoke } from './token-revoke.ts'

/** Every command there is; the help is printed from it. */
export const commands: readonly Command[] = [
  serve,
  health,
  migrate,
  copy,
  config,
  doctor,
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
  keyRotate,
  keyRevoke,
  auditList,
  orderList,
  orderShow,
  deliveryList,
  deliveryShow,
  deliveryExport,
  tokenRevoke,
  signingKeyList,
  signingKeyRotate,
  signingKeyRewrap,
]
