import type { Config } from '#src/config/load-config.ts'
import { ADD_ONE, hasCustomer } from '#src/customer/any-customer.ts'
import { customerErrors } from '#src/customer/customer.errors.ts'
import type { Customers } from '#src/customer/customer.rule.ts'
import { addSandbox, SANDBOX_EMAIL, type Sandbox } from '#src/customer/sandbox.ts'
import { checkOperators } from '#src/doctor/checks.ts'
import { AppError } from '#src/lib/app-error.ts'
import { message, textOf } from '#src/lib/messages/message.ts'
import { isLoopback } from '#src/lib/net/reachable-host.ts'
import { COMMAND } from '#src/lib/version.ts'
import { openOrAwait } from '#src/store/await-store.ts'
import { unverifiedHosts } from '#src/store/open-store.ts'
import type { CliContext, Command, RunningServer } from './command.ts'
import { accountRules } from './with-accounts.ts'
import { sayCreated } from './with-store.ts'

export const serve: Command = {
  name: 'serve',
  about: 'Serve the API until told to stop; this is what npm start does',
  async run(_input, context) {
    const { loadConfig, clock, random, startServer } = context
    const loaded = loadConfig()
    const { config } = loaded
    const production = config.environment === 'production'
    const awaited = await openOrAwait(config, clock, !production)
    let server: RunningServer | undefined
    try {
      server = await startServer(loaded, awaited)
      const { opened } = server
      if (opened === undefined) return await server.stopped
      const { store } = opened
      sayCreated(opened, config, server.inform)
      void store.gone.then(server.fail)
      for (const { status, message } of checkOperators(config)) if (status === 'warning') server.warn(message)
      const hosts = await unverifiedHosts(config)
      if (hosts.length > 0) server.warn(textOf(message('DATABASE_UNVERIFIED', { hosts })))
      if (server.isStopping()) return await server.stopped
      if (production) {
        if (!(await hasCustomer(store.customers))) server.warn(ADD_ONE)
        return await server.stopped
      }
      const { customers, apiKeys } = accountRules(store, context)
      // Made only after the port is open: a failed start must not use up a password that is shown once.
      const say = placeToSay(context, config)
      if (!isLoopback(config.host)) await warnOfNetwork(server, config, customers)
      else if (await customers.isEmpty()) {
        const sandbox = await addSandbox(customers, apiKeys, random).catch(unlessMadeMeanwhile)
        if (sandbox && say) say(welcome(server, sandbox, config))
        else if (sandbox) server.inform(`a sandbox customer was created. ${NOT_SHOWN}`)
      } else if (say && (await customers.exists(SANDBOX_EMAIL))) say(welcomeBack(server, config))
      return await server.stopped
    } catch (error) {
      await server?.stop('the start failed', 1)
      throw error
    } finally {
      await awaited.close()
    }
  },
}

/**
 * Returns what speaks to the person who started the server; undefined where that could only stand between the lines of a log in JSON,
 * which has no credentials and is read by programs.
 */
function placeToSay({ columns, out, err, sharesOutput }: CliContext, { log }: Config): CliContext['out'] | undefined {
  if (columns !== undefined && log !== 'json') return out
  return columns === undefined && log !== 'pretty' && sharesOutput() ? undefined : err
}

const NEW_CREDENTIALS = [
  `${COMMAND} customer set-password ${SANDBOX_EMAIL} --generate`,
  `${COMMAND} key issue --customer ${SANDBOX_EMAIL}`,
] as const

const NOT_SHOWN = `A log shows no credentials: for those of ${SANDBOX_EMAIL} run ${NEW_CREDENTIALS.join(' and ')}`

/** The sandbox customer may deliver anything: it is for trying on one machine, and not for its network. */
async function warnOfNetwork(server: RunningServer, { host }: Config, customers: Customers): Promise<void> {
  if (await customers.isEmpty()) {
    server.warn(
      `no sandbox customer was created, since the network reaches HOST=${host}: set HOST=127.0.0.1 to try teslim, or NODE_ENV=production to run it; ${ADD_ONE}`,
    )
  } else if (await customers.exists(SANDBOX_EMAIL)) {
    server.warn(
      `the network reaches HOST=${host}, and the sandbox customer may deliver anything: ${COMMAND} customer disable ${SANDBOX_EMAIL}`,
    )
  }
}

/** Two servers may start on one empty store: then the other one printed the password. */
function unlessMadeMeanwhile(error: unknown): undefined {
  if (error instanceof AppError && error.code === customerErrors.emailTaken.code) return undefined
  throw error
}

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

  ${NEW_CREDENTIALS.join('\n  ')}
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
Report the Status of a purchase order:
  curl -s${curlOptions} ${url}/Purchase/update -H 'ApiKey: ${apiKey}' -d '{"OrderID":"PO-1","Status":2,"Products":[{"Sku":"SKU-1","Quantity":3}]}'
See what came in:
  ${COMMAND} order list
  ${COMMAND} delivery list${
    config.console === 'on'
      ? `
Add an operator, who may sign in to the console:
  ${COMMAND} customer add --email operator@example.com --api --operator --generate`
      : ''
  }
`
}
