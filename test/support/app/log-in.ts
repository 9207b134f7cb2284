import { systemRandom } from '#src/lib/random.ts'
import { createHashQueue, passwords } from '#src/login/hashing.ts'
import { createLogIn, type LoginDependencies } from '#src/login/login.rule.ts'
import { createPasswordMemory } from '#src/login/password-memory.ts'
import { createThrottle } from '#src/login/throttle.ts'
import type { TestApp } from './test-app.ts'

/** The rule of the login room alone, on the store of a service, and the token that the route issues then. */
export function ruleOf({ app, store, clock }: TestApp, more: Partial<LoginDependencies> = {}) {
  const logIn = createLogIn({
    customers: store.customers,
    currentCustomers: app.currentCustomers,
    passwords,
    throttle: createThrottle(store.loginFailures, clock),
    memory: createPasswordMemory(0, systemRandom, clock),
    queue: createHashQueue({ maxRunning: 3, maxWaiting: 32 }),
    refusalDelay: { wait: async () => undefined, close: () => undefined },
    operatorNetworks: undefined,
    onRehashFailed: () => undefined,
    ...more,
  })
  return async (email: string, password: string, address = '127.0.0.1', region = 'TR', isAwaited = () => true) => {
    const loggedIn = await logIn({ email, password, region, address, isAwaited })
    return {
      customerId: loggedIn.customer.id,
      ...(await app.accessTokens.issue(loggedIn.customer, loggedIn.region)),
    }
  }
}
