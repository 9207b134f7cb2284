import { VERSION } from '#src/lib/version.ts'
import { auditList } from './audit.ts'
import { backup } from './backup/backup.ts'
import { restore } from './backup/restore.ts'
import type { Command, CommandGroup } from './command.ts'
import { createCompletion } from './completion.ts'
import { config } from './config.ts'
import { copy } from './copy.ts'
import { customerAdd, customerSetPassword } from './customer/add.ts'
import {
  customerAllow,
  customerDisable,
  customerDisallow,
  customerEnable,
  customerSet,
  customerShow,
  tokenRevoke,
} from './customer/change.ts'
import { customerRemove } from './customer/remove.ts'
import { customerList } from './customer/show.ts'
import { doctor } from './doctor.ts'
import { health } from './health.ts'
import { createHelp } from './help.ts'
import { keyIssue, keyRevoke, keyRotate } from './key/issue.ts'
import { keySet } from './key/set.ts'
import { keyList } from './key/show.ts'
import { migrate } from './migrate.ts'
import { deliver } from './purchase/deliver/deliver.ts'
import { deliveryExport, deliveryList, deliveryShow } from './purchase/deliveries.ts'
import { orderList, orderShow } from './purchase/orders.ts'
import { refusedList, refusedShow } from './purchase/refused.ts'
import { purge } from './purge.ts'
import { serve } from './serve.ts'
import { signingKeyList, signingKeyRewrap, signingKeyRotate } from './signing-key.ts'
import { stats } from './stats.ts'
import { webhookAdd } from './webhook/add.ts'
import {
  webhookPause,
  webhookRemove,
  webhookReplay,
  webhookResume,
  webhookRotateSecret,
  webhookTest,
} from './webhook/change.ts'
import { webhookList, webhookShow } from './webhook/show.ts'

const version: Command = {
  name: 'version',
  about: 'Show the version (also --version)',
  async run({ json }, { out }) {
    out(json ? JSON.stringify({ version: VERSION, node: process.versions.node }) : `teslim ${VERSION}`)
  },
}

const help = createHelp(() => commandGroups)
const completion = createCompletion(() => commands)

/** Every command, in the order of the help. */
export const commandGroups: readonly CommandGroup[] = [
  { title: 'Service', commands: [serve, health, doctor, config] },
  { title: 'Store', commands: [migrate, backup, restore, copy, purge] },
  {
    title: 'Customers',
    commands: [
      customerAdd,
      customerList,
      customerShow,
      customerSet,
      customerSetPassword,
      customerEnable,
      customerDisable,
      customerAllow,
      customerDisallow,
      customerRemove,
    ],
  },
  { title: 'API keys of customers', commands: [keyIssue, keyList, keySet, keyRotate, keyRevoke] },
  {
    title: 'Orders and deliveries',
    commands: [
      orderList,
      orderShow,
      deliveryList,
      deliveryShow,
      deliveryExport,
      refusedList,
      refusedShow,
      deliver,
      stats,
    ],
  },
  {
    title: 'Webhooks',
    commands: [
      webhookAdd,
      webhookList,
      webhookShow,
      webhookPause,
      webhookResume,
      webhookReplay,
      webhookRotateSecret,
      webhookTest,
      webhookRemove,
    ],
  },
  { title: 'Audit log', commands: [auditList] },
  {
    title: 'Access tokens',
    commands: [tokenRevoke, signingKeyList, signingKeyRotate, signingKeyRewrap],
  },
  { title: 'Command line', commands: [help, version, completion] },
]

export const commands: readonly Command[] = commandGroups.flatMap((group) => group.commands)
