import { addSandbox, type Sandbox } from '#src/customer/sandbox.ts'
import { openStore } from '#src/store/open-store.ts'
import type { Command } from './command.ts'
import { accountRules } from './with-accounts.ts'

export const serve: Command = {
  name: 'serve',
  about: 'Serve the API until told to stop; this is what npm start does',
  async run({ json }, { loadConfig, clock, random, out, startServer }) {
    const { config } = loadConfig()
    const { store } = await openStore(config, clock.now())
    try {
      const server = await startServer(config, store)
      const { customers, apiKeys } = accountRules(store, { clock, random })
      // Only once the port is ours: a start that fails must not use up a password that is shown once.
      if (await customers.isEmpty()) {
        if (config.environment === 'production') server.warn(`no customer yet, add one: ${ADD_ONE}`)
        else if (!json) out(welcome(server.url, await addSandbox(customers, apiKeys, random), config.loginEmailField))
      }
      return await server.stopped
    } finally {
      await store.close()
    }
  },
}

const ADD_ONE = 'npx teslim customer add --email ADDRESS --api --region TR --allow RULE --generate'

function welcome(url: string, { email, password, apiKey }: Sandbox, emailField: string): string {
  const body = JSON.stringify({ [emailField]: email, Password: password })
  return `
teslim listens on ${url}

The store is empty, so a sandbox customer was made. Password and key are shown this once:

  e-mail     ${email}
  password   ${password}
  ApiKey     ${apiKey}

Log in and get a token:

  curl -s ${url}/Login/Customer/Api/Verify -H 'Content-Type: application/json' -d '${body}'

Deliver a purchase order:

  curl -s ${url}/Purchase/update -H 'ApiKey: ${apiKey}' -d '{"OrderID":"PO-1","Status":2,"Products":[{"Sku":"SKU-1","Quantity":3}]}'
`
}
