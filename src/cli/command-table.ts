import type { Command, CommandGroup } from './command.ts'

type LoadCommand = () => Promise<Command>

/** Commands by their names, in the order of the help. Each is loaded when it is run: all of them would take longer than most need. */
const TABLE: Readonly<Record<string, Readonly<Record<string, LoadCommand>>>> = {
  Service: {
    serve: async () => (await import('./serve.ts')).serve,
    health: async () => (await import('./health.ts')).health,
    doctor: async () => (await import('./doctor.ts')).doctor,
    config: async () => (await import('./config.ts')).config,
  },
  Store: {
    migrate: async () => (await import('./migrate.ts')).migrate,
    backup: async () => (await import('./backup/backup.ts')).backup,
    restore: async () => (await import('./backup/restore.ts')).restore,
    copy: async () => (await import('./copy.ts')).copy,
    purge: async () => (await import('./purge.ts')).purge,
  },
  Customers: {
    'customer add': async () => (await import('./customer/add.ts')).customerAdd,
    'customer list': async () => (await import('./customer/customers.ts')).customerList,
    'customer show': async () => (await import('./customer/customers.ts')).customerShow,
    'customer set': async () => (await import('./customer/set.ts')).customerSet,
    'customer set-password': async () => (await import('./customer/add.ts')).customerSetPassword,
    'customer enable': async () => (await import('./customer/customers.ts')).customerEnable,
    'customer disable': async () => (await import('./customer/customers.ts')).customerDisable,
    'customer allow': async () => (await import('./customer/customers.ts')).customerAllow,
    'customer disallow': async () => (await import('./customer/customers.ts')).customerDisallow,
    'customer remove': async () => (await import('./customer/remove.ts')).customerRemove,
  },
  'API keys of customers': {
    'key issue': async () => (await import('./key/keys.ts')).keyIssue,
    'key list': async () => (await import('./key/keys.ts')).keyList,
    'key show': async () => (await import('./key/show.ts')).keyShow,
    'key set': async () => (await import('./key/set.ts')).keySet,
    'key rotate': async () => (await import('./key/keys.ts')).keyRotate,
    'key revoke': async () => (await import('./key/keys.ts')).keyRevoke,
  },
  'Orders and deliveries': {
    'order list': async () => (await import('./purchase/orders.ts')).orderList,
    'order show': async () => (await import('./purchase/orders.ts')).orderShow,
    'order erase': async () => (await import('./purchase/erase.ts')).orderErase,
    'delivery list': async () => (await import('./purchase/deliveries.ts')).deliveryList,
    'delivery show': async () => (await import('./purchase/deliveries.ts')).deliveryShow,
    'delivery export': async () => (await import('./purchase/deliveries.ts')).deliveryExport,
    'delivery erase': async () => (await import('./purchase/erase.ts')).deliveryErase,
    'delivery refused list': async () => (await import('./purchase/refused.ts')).refusedList,
    'delivery refused show': async () => (await import('./purchase/refused.ts')).refusedShow,
    deliver: async () => (await import('./purchase/deliver/deliver.ts')).deliver,
    stats: async () => (await import('./stats.ts')).stats,
  },
  Webhooks: {
    'webhook add': async () => (await import('./webhook/add.ts')).webhookAdd,
    'webhook list': async () => (await import('./webhook/endpoints.ts')).webhookList,
    'webhook show': async () => (await import('./webhook/show.ts')).webhookShow,
    'webhook set': async () => (await import('./webhook/set.ts')).webhookSet,
    'webhook pause': async () => (await import('./webhook/endpoints.ts')).webhookPause,
    'webhook resume': async () => (await import('./webhook/endpoints.ts')).webhookResume,
    'webhook replay': async () => (await import('./webhook/replay.ts')).webhookReplay,
    'webhook rotate-secret': async () => (await import('./webhook/endpoints.ts')).webhookRotateSecret,
    'webhook test': async () => (await import('./webhook/endpoints.ts')).webhookTest,
    'webhook listen': async () => (await import('./webhook/listen.ts')).webhookListen,
    'webhook remove': async () => (await import('./webhook/endpoints.ts')).webhookRemove,
  },
  'Audit log': {
    'audit list': async () => (await import('./audit.ts')).auditList,
  },
  'Access tokens': {
    'token revoke': async () => (await import('./customer/token.ts')).tokenRevoke,
    'signing-key list': async () => (await import('./signing-key.ts')).signingKeyList,
    'signing-key rotate': async () => (await import('./signing-key.ts')).signingKeyRotate,
    'signing-key rewrap': async () => (await import('./signing-key.ts')).signingKeyRewrap,
  },
  'Command line': {
    help: async () => (await import('./help.ts')).createHelp(loadGroups),
    version: async () => (await import('./version.ts')).version,
    completion: async () => (await import('./completion.ts')).completion,
  },
}

const commands = new Map(Object.values(TABLE).flatMap((group) => Object.entries(group)))

export const commandNames: readonly string[] = [...commands.keys()]

/** Resolves to undefined if there is no such command. Also knows the one that completion scripts run. */
export const loadCommand = async (name: string): Promise<Command | undefined> =>
  name === 'complete'
    ? (await import('./completion.ts')).createComplete(commandNames, loadCommand)
    : commands.get(name)?.()

export const loadCommands = (): Promise<readonly Command[]> =>
  Promise.all(Array.from(commands.values(), (load) => load()))

export const loadGroups = (): Promise<readonly CommandGroup[]> =>
  Promise.all(
    Object.entries(TABLE).map(async ([title, group]) => ({
      title,
      commands: await Promise.all(Object.values(group).map((load) => load())),
    })),
  )
