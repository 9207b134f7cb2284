import { DatabaseSync } from 'node:sqlite'
import { WEBHOOK_ALLOW } from '../network/allowed-ports.ts'
import { runCommand } from '../processes/command.ts'
import { commandStage } from '../processes/command-stage.ts'
import { customer, delivery } from '../store/store-rows.ts'
import { tempFolder } from '../temp-folder.ts'

export const SECRET = 'a secret that is long enough to be one'

/** A store with two customers and three deliveries, and commands that run on it. Endpoints that are added get the URL. */
export async function makeStage(url: string) {
  const path = `${tempFolder()}/teslim.db`
  const env = { DATABASE_URL: `sqlite:${path}`, ...WEBHOOK_ALLOW, TESLIM_SECRET: SECRET }
  const { cwd, json, withStore } = commandStage(env)
  const run = (args: readonly string[], more = {}, columns?: number, stdin = '') =>
    runCommand(args, { cwd, env: { ...env, ...more }, stdin, ...(columns && { columns }) })
  const webhook = (...args: string[]) => run(['webhook', ...args])
  const [one, other] = [customer({ name: '', email: 'one@b.co' }), customer({ name: '', email: 'other@b.co' })]
  const receipts = await withStore(async (store) => {
    for (const each of [one, other]) await store.customers.insert(each)
    const made = [delivery(one.id, { orderId: 'PO-1' }), delivery(one.id, { orderId: 'PO-2' }), delivery(other.id)]
    for (const each of made) await store.deliveries.deliver(each)
    return made.map(({ receiptId }) => receiptId)
  })
  const add = (...args: string[]) => json('webhook', 'add', '--url', url, ...args)
  /** Looks into the table itself, which a command would have to open the store for. */
  const countEndpoints = (): number => {
    const file = new DatabaseSync(path, { readOnly: true })
    const row = file.prepare('SELECT count(*) AS n FROM webhook').get()
    file.close()
    return Number(row?.n)
  }
  return { cwd, countEndpoints, env, run, webhook, json, withStore, add, one, other, receipts }
}
