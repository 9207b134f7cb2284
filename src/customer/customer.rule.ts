import { refuse } from '#src/lib/app-error.ts'
import type { Clock } from '#src/lib/clock.ts'
import { displayName } from '#src/lib/display-name.ts'
import { hasHidden } from '#src/lib/printable.ts'
import { newId, type Random, randomText } from '#src/lib/random.ts'
import type { Customer, CustomerChange, Scope, Store } from '#src/store/store.ts'
import { isAuthorityRule } from './authority.ts'
import { canonicalEmail, checkPassword, readRegion } from './credentials.ts'
import { customerErrors } from './customer.errors.ts'
import { allCustomers, customersWith, findCustomer } from './find-customer.ts'
import { keepsRights } from './rights.ts'
import { checkedRole, NO_ROLE } from './roles.ts'
import { readName, readNote, readReason } from './words.ts'

export interface NewCustomer {
  readonly email: string
  readonly name?: string | undefined
  readonly note?: string | undefined
  /** Undefined for a customer that cannot log in until it gets one. */
  readonly password: string | undefined
  readonly isApi: boolean
  /** That of a customer unless given. */
  readonly scope?: Scope
  readonly payloads?: boolean
  readonly regions: readonly string[]
  readonly authority: readonly string[]
}

/** Changes to a customer. A property that is not given stays as it is. */
export type CustomerSettings = Omit<CustomerChange, 'tokenGeneration'>

export interface CustomerDependencies {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  readonly hashPassword: (password: string) => Promise<string>
}

/** A customer as operators see it. */
export interface CustomerView extends Omit<Customer, 'passwordHash' | 'tokenGeneration'> {
  readonly hasPassword: boolean
}

export type Customers = ReturnType<typeof createCustomers>

/** 131 bits. Counted instead, a restored store would count to a generation that has ended. */
const GENERATION_LENGTH = 22
/** Stands for no hash: no password matches it. */
export const NO_PASSWORD = ''

/** The operators' actions on customers. `who` is an e-mail address or an id. */
export function createCustomers({ store, clock, random, hashPassword }: CustomerDependencies) {
  const find = async (who: string): Promise<Customer> =>
    (await findCustomer(store.customers, who)) ??
    refuse(customerErrors.notFound, `There is no customer ${JSON.stringify(who)}.`)

  const findNotRemoved = async (who: string): Promise<Customer> => {
    const customer = await find(who)
    if (isRemoved(customer)) refuse(customerErrors.removed, `The customer ${customer.id} was removed: add a new one.`)
    return customer
  }

  const change = async (who: string, apply: (customer: Customer) => Promise<unknown>): Promise<CustomerView> => {
    const customer = await findNotRemoved(who)
    await apply(customer)
    // It may have been removed meanwhile, and then nothing was changed.
    return toView(await findNotRemoved(customer.id))
  }

  const newGeneration = (): string => randomText(GENERATION_LENGTH, random)

  return {
    async add(wanted: NewCustomer) {
      const { email, name, note, role, regions, authority, warnings } = await checkNewCustomer(wanted)
      const customer: Customer = {
        id: newId(clock.now(), random),
        email,
        name,
        note,
        disabledReason: '',
        silence: null,
        passwordHash: wanted.password === undefined ? NO_PASSWORD : await hashPassword(wanted.password),
        isApi: wanted.isApi,
        ...role,
        enabled: true,
        regions,
        authority,
        tokenGeneration: newGeneration(),
        createdAt: clock.now(),
      }
      if ((await store.customers.insert(customer)) === 'email-taken') {
        refuse(customerErrors.emailTaken, `A customer ${email} exists already.`)
      }
      return { customer: toView(customer), warnings }
    },

    /** All of them, or those that `search` finds: by a part of name, note or e-mail address, or by the beginning of the id. */
    async list(search?: string): Promise<CustomerView[]> {
      const { customers } = store
      return (await (search === undefined ? allCustomers(customers) : customersWith(customers, search))).map(toView)
    },

    isEmpty: async (): Promise<boolean> => (await store.customers.list({ limit: 1 })).length === 0,

    exists: async (email: string): Promise<boolean> => (await store.customers.findByEmail(email)) !== undefined,

    show: async (who: string): Promise<CustomerView> => toView(await find(who)),
    /** Refuses a customer that was removed. */
    showNotRemoved: async (who: string): Promise<CustomerView> => toView(await findNotRemoved(who)),

    async setPassword(who: string, password: string) {
      const { id, email } = await findNotRemoved(who)
      const warnings = await checkPassword(password, email)
      const hash = await hashPassword(password)
      const customer = await change(id, () => store.customers.setPassword(id, hash, newGeneration()))
      return { customer, warnings }
    },

    enable: (who: string) => change(who, ({ id }) => store.customers.enable(id)),
    /** Without a reason, that of a customer which is disabled already stays. */
    disable: (who: string, why?: string) =>
      change(who, ({ id }) => {
        const reason = why === undefined ? null : readReason(why)
        return store.customers.disable(id, { reason, tokenGeneration: newGeneration() })
      }),
    /** Ends every token issued so far if some of them may no longer fit: a region or a right is taken away. */
    set: (who: string, wanted: CustomerSettings) =>
      change(who, async (former) => {
        const { email, name, note, regions } = checkSettings(wanted)
        const scope = wanted.scope ?? former.scope
        const payloads = wanted.payloads ?? (scope === 'operator:support' && former.payloads)
        const role = checkedRole({ scope, payloads })
        const shrinks = regions !== undefined && former.regions.some((region) => !regions.includes(region))
        const ends = shrinks || (former.isApi && wanted.isApi === false) || !keepsRights(former, role)
        const outcome = await store.customers.change(former.id, {
          ...wanted,
          // Only what is asked for: a right that is taken away meanwhile must not come back.
          ...((wanted.scope !== undefined || wanted.payloads !== undefined) && role),
          email,
          name,
          note,
          regions,
          tokenGeneration: ends ? newGeneration() : undefined,
        })
        if (outcome === 'email-taken') refuse(customerErrors.emailTaken, `A customer ${email} exists already.`)
      }),

    /** Forgets the customer: keys and tokens end. Its deliveries stay under its id. May be repeated. */
    async remove(who: string, erase: boolean): Promise<CustomerView> {
      const { id } = await find(who)
      await store.customers.remove(id, { tokenGeneration: newGeneration(), now: clock.now(), erase })
      return toView(await find(id))
    },

    /** Ends every token issued so far. */
    revokeTokens: (who: string) => change(who, ({ id }) => store.customers.revokeTokens(id, newGeneration())),
    allow: (who: string, rules: readonly string[]) =>
      change(who, ({ id }) => store.customers.addAuthority(id, checkRules(rules))),
    disallow: (who: string, rules: readonly string[]) =>
      change(who, (customer) => {
        const { id, authority } = customer
        const unknown = checkRules(rules).find((rule) => !authority.includes(rule))
        const has = authority.join(', ') || 'none'
        if (unknown !== undefined)
          refuse(customerErrors.ruleMissing, `${displayName(customer)} has no rule "${unknown}". Its rules: ${has}.`)
        return store.customers.removeAuthority(id, rules)
      }),
  }
}

/** Whether nothing but the id is left. No address has this form, as it lacks an @. */
export const isRemoved = ({ id, email }: Pick<Customer, 'id' | 'email'>): boolean => email === `removed:${id}`

const toView = ({ passwordHash, tokenGeneration: _, ...view }: Customer): CustomerView => ({
  ...view,
  hasPassword: passwordHash !== NO_PASSWORD,
})

const sortedSet = (values: readonly string[]): string[] => [...new Set(values)].sort()

/** Checks what can be checked without a store. */
export function checkSettings({ email, name, note, regions }: CustomerSettings) {
  return {
    email: email === undefined ? undefined : checkEmail(email),
    name: name === undefined ? undefined : readName(name),
    note: note === undefined ? undefined : readNote(note),
    regions: regions && sortedSet(regions.map(checkRegion)),
  }
}

/** Refuses what would look like another address. Customers of earlier versions may have one, and are still found by it. */
function checkEmail(text: string): string {
  const email = canonicalEmail(text) ?? refuse(customerErrors.emailInvalid, `"${text}" is not an e-mail address.`)
  if (hasHidden(email)) refuse(customerErrors.emailInvalid, 'The e-mail address has characters that cannot be seen.')
  return email
}

/** Checks what can be checked without a store, and returns it as it is stored. */
export async function checkNewCustomer(wanted: NewCustomer) {
  const email = checkEmail(wanted.email)
  const { scope = NO_ROLE.scope, payloads = false } = wanted
  const warnings = wanted.password === undefined ? [] : await checkPassword(wanted.password, email)
  return {
    email,
    name: readName(wanted.name ?? ''),
    note: readNote(wanted.note ?? ''),
    role: checkedRole({ scope, payloads }),
    regions: sortedSet(wanted.regions.map(checkRegion)),
    authority: checkRules(wanted.authority),
    warnings,
  }
}

function checkRegion(region: string): string {
  const read = region === '' ? undefined : readRegion(region)
  return read ?? refuse(customerErrors.regionInvalid, `"${region}" is not a region: two letters, such as TR.`)
}

function checkRules(rules: readonly string[]): string[] {
  const wrong = rules.find((rule) => !isAuthorityRule(rule))
  if (wrong !== undefined) {
    refuse(customerErrors.ruleInvalid, `"${wrong}" is not a rule: a product code, a prefix such as ABC-*, or * alone.`)
  }
  return sortedSet(rules)
}
