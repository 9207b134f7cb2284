import { systemRandom } from '#src/lib/random.ts'
import { createHashGate } from '#src/login/hash-gate.ts'
import { createLogIn, type LoginDependencies } from '#src/login/login.rule.ts'
import { createFindCustomer } from '#src/login/login-customers.ts'
import { passwords } from '#src/login/password-hashing.ts'
import { createPasswordMemory } from '#src/login/password-memory.ts'
import { createThrottle } from '#src/login/throttle.ts'
import type { TestApp } from './test-app.ts'

/** The rule of the login room alone, on the store of a service. */
export function ruleOf({ app, store, clock }: TestApp, more: Partial<LoginDependencies> = {}) {
  const logIn = createLogIn({
    customers: store.customers,
    findCustomer: createFindCustomer(store),
    passwords,
    accessTokens: app.accessTokens,
    throttle: createThrottle(store.loginFailures, clock),
    memory: createPasswordMemory({ seconds: 0, random: systemRandom, clock }),
    gate: createHashGate({ mostRunning: 3, mostWaiting: 32 }),
    pace: { turn: async () => undefined, close: () => undefined },
    onRehashFailed: () => undefined,
    ...more,
  })
  return (email: string, password: string, address = '127.0.0.1', region = 'TR') =>
    logIn({ email, password, region, address, isAwaited: () => true })
}
