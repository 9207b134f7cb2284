import { createCursors } from '#src/purchase/cursors.ts'
import { auditedEndpoints } from '#src/webhook/endpoints/audited.ts'
import type { Endpoints } from '#src/webhook/endpoints/endpoints.rule.ts'
import type { CliContext, Input } from '../command.ts'
import { byPrefix, findEndpointId, findReceipt } from '../input/id-prefix.ts'
import { recordAction } from '../with-accounts.ts'
import { type Access, withStore } from '../with-store.ts'

export interface EndpointRules {
  readonly endpoints: Endpoints
  /** The id that a unique prefix stands for. */
  idOf(text: string): Promise<string>
  /** The receipt that a unique prefix stands for. */
  receiptOf(text: string): Promise<string>
}

/** Opens the store for the length of one piece of work on endpoints. Each change is written into the audit log. */
export const withEndpoints = <Result>(
  context: CliContext,
  access: Access,
  work: (rules: EndpointRules) => Promise<Result>,
): Promise<Result> =>
  withStore(context, access, async (store, config) => {
    // Loaded here because the other commands start sooner without it.
    const { openEndpoints } = await import('#src/webhook/endpoints/open-endpoints.ts')
    const { clock, random } = context
    const { proxyVariables } = context.loadConfig()
    const customers = byPrefix(store.customers)
    const { endpoints, close } = openEndpoints({
      store: { ...store, customers },
      cursors: createCursors(store.secrets, random),
      config,
      proxyVariables,
      clock,
      random,
    })
    try {
      return await work({
        endpoints: auditedEndpoints(endpoints, recordAction(store, context)),
        idOf: (text) => findEndpointId(text, store.webhooks),
        receiptOf: (text) => findReceipt(text, store.deliveries),
      })
    } finally {
      await close()
    }
  })

/** Opens the store to do something with the endpoint that was named first. */
export const withEndpoint = <Result>(
  input: Input,
  context: CliContext,
  access: Access,
  work: (endpoints: Endpoints, id: string, rules: EndpointRules) => Promise<Result>,
): Promise<Result> =>
  withEndpoints(context, access, async (rules) => work(rules.endpoints, await rules.idOf(input.word), rules))
