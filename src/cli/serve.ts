import { setTimeout } from 'node:timers/promises'
import type { Config } from '#src/config/load-config.ts'
import { partOfThread } from '#src/config/thread-config.ts'
import { customerErrors } from '#src/customer/customer.errors.ts'
import { addSandbox, SANDBOX_EMAIL, type Sandbox } from '#src/customer/sandbox.ts'
import { AppError, reasonOf } from '#src/lib/app-error.ts'
import { lacksRoom, type OpenedStore, openStore, type StoreOptions } from '#src/store/open-store.ts'
import type { CliContext, Command, RunningServer } from './command.ts'
import { accountRules } from './with-accounts.ts'
import { sayCreated } from './with-store.ts'

export const serve: Command = {
  name: 'serve',
  about: 'Serve the API until told to stop; this is what npm start does',
  async run(_input, context) {
    const { loadConfig, random, columns, startServer } = context
    // Without a terminal stdout has the log, in JSON.
    const say = columns === undefined ? context.err : context.out
    const loaded = loadConfig()
    const { config } = loaded
    const opened = await openOnceRoom(partOfThread(config), context)
    const { store } = opened
    let server: RunningServer | undefined
    try {
      server = await startServer(loaded, opened)
      sayCreated(opened, config, server.inform)
      void store.gone.then(server.fail)
      if (server.isStopping()) return await server.stopped
      const { customers, apiKeys } = accountRules(store, context)
      // Made only after the port is open: a failed start must not use up a password that is shown once.
      const production = config.environment === 'production'
      if (await customers.isEmpty()) {
        if (production) server.warn(`no customer yet, add one: ${ADD_ONE}`)
        else {
          const sandbox = await addSandbox(customers, apiKeys, random).catch(unlessMadeMeanwhile)
          if (sandbox) say(welcome(server, sandbox, config))
        }
      } else if (!production && (await customers.exists(SANDBOX_EMAIL))) say(welcomeBack(server, config))
      return await server.stopped
    } catch (error) {
      await server?.stop('the start failed', 1)
      throw error
    } finally {
      await store.close()
    }
  },
}

const LOOK_EVERY_MILLISECONDS = 500

/** Opens the store, on a full disk as soon as there is room: a start that failed would be repeated, or given up, by a supervisor. */
async function openOnceRoom(options: StoreOptions, { clock, err }: CliContext): Promise<OpenedStore> {
  for (let isTold = false; ; isTold = true) {
    try {
      return await openStore(options, clock.now(), { toServe: true })
    } catch (error) {
      if (!lacksRoom(options, error)) throw error
      if (!isTold) err(`teslim serve: waiting until there is room on the disk: ${reasonOf(error)}`)
      await setTimeout(LOOK_EVERY_MILLISECONDS)
    }
  }
}

/** Two servers may start on one empty store: then the other one printed the password. */
function unlessMadeMeanwhile(error: unknown): undefined {
  if (error instanceof AppError && error.code === customerErrors.emailTaken.code) return undefined
  throw error
}

const ADD_ONE = 'npx teslim customer add --email ADDRESS --api --region TR --allow RULE --generate'

const greeting = ({ url }: RunningServer, { docs, console }: Config): string =>
  [
    `teslim listens on ${url}. Ctrl+C stops it.`,
    ...(docs === 'on' ? [`API reference: ${url}/docs`] : []),
    ...(console === 'on' ? [`Console: ${url}/console`] : []),
  ].join('\n')

/** Says how to get new credentials: the first start may have been killed before it showed them. */
const welcomeBack = (server: RunningServer, config: Config): string => `
${greeting(server, config)}

This store has the sandbox customer ${SANDBOX_EMAIL}.
Its password and ApiKey were shown once. For new ones:

  npx teslim customer set-password ${SANDBOX_EMAIL} --generate
  npx teslim key issue --customer ${SANDBOX_EMAIL}
`

function welcome(server: RunningServer, { email, password, apiKey }: Sandbox, config: Config): string {
  const { url, curlOptions } = server
  const body = JSON.stringify({ [config.loginEmailField]: email, Password: password })
  return `
${greeting(server, config)}

The store is empty: a sandbox customer was created. This is shown once:
  e-mail     ${email}
  password   ${password}
  ApiKey     ${apiKey}
Log in:
  curl -s${curlOptions} ${url}/Login/Customer/Api/Verify -H 'Content-Type: application/json' -d '${body}'
Deliver a purchase order:
  curl -s${curlOptions} ${url}/Purchase/update -H 'ApiKey: ${apiKey}' -d '{"OrderID":"PO-1","Status":2,"Products":[{"Sku":"SKU-1","Quantity":3}]}'
See what came in:
  npx teslim order list
  npx teslim delivery list${
    config.console === 'on'
      ? `
Add an operator, who may sign in to the console:
  npx teslim customer add --email operator@example.com --api --operator --generate`
      : ''
  }
`
}
