import { AppError, type ErrorDefinition } from '#src/lib/app-error.ts'
import { displayName } from '#src/lib/display-name.ts'
import { readUuid } from '#src/lib/random.ts'
import type { ApiKeyStore, Customer, CustomerStore, DeliveryStore, RefusedStore } from '#src/store/store.ts'

const SHORTEST = 4
/** There are few endpoints: often `01`, with which every id begins for years, is unique. */
const MIN_OF_ENDPOINT = 2
const UUID_LENGTH = 36
const MAX_NAMED = 5

const ambiguous = {
  code: 'ID_AMBIGUOUS',
  kind: 'conflict',
  message: 'Several ids begin with this text.',
} as const satisfies ErrorDefinition

/** Whether a text may be the beginning of a UUID. */
const isPrefix = (text: string, shortest = SHORTEST): boolean =>
  text.length >= shortest && text.length < UUID_LENGTH && /^[0-9a-f][0-9a-f-]*$/i.test(text)

/** Returns the only match; undefined for none. Throws, naming the matches, when there are several. */
function only<Found>(prefix: string, found: readonly Found[], describe: (each: Found) => string): Found | undefined {
  if (found.length < 2) return found[0]
  const named = found.slice(0, MAX_NAMED).map(describe).join(', ')
  const more = found.length > MAX_NAMED ? ', and more' : ''
  throw new AppError(ambiguous, { message: `Several ids begin with ${prefix}: ${named}${more}. Type more characters.` })
}

/** The customers of a store, found by a unique prefix of their id, too. */
export const byPrefix = (customers: CustomerStore): CustomerStore => ({
  ...customers,
  async findById(id): Promise<Customer | undefined> {
    const exact = await customers.findById(id)
    if (exact !== undefined || !isPrefix(id)) return exact
    const prefix = id.toLowerCase()
    const next = await customers.list({ afterId: prefix, limit: MAX_NAMED + 1 })
    const found = next.filter((each) => each.id.startsWith(prefix))
    return only(id, found, (each) => `${each.id} (${displayName(each)})`)
  },
})

/** Expands a unique prefix of an API key's id to the whole id; returns the text unchanged if nothing matches. */
export function findKeyId(text: string, keys: readonly { readonly id: string; readonly label: string }[]): string {
  if (!isPrefix(text)) return text
  const found = keys.filter(({ id }) => id.startsWith(text.toLowerCase()))
  return only(text, found, ({ id, label }) => (label === '' ? id : `${id} (${label})`))?.id ?? text
}

/** Does the same for a key of a store. */
export const findKeyAmong = async (text: string, apiKeys: Pick<ApiKeyStore, 'withPrefix'>): Promise<string> =>
  findKeyId(text, await apiKeys.withPrefix(text.toLowerCase(), MAX_NAMED + 1))

/** Expands a unique prefix of an endpoint's id to the whole id; returns the text unchanged if nothing matches. */
export function findEndpointId(
  text: string,
  endpoints: readonly { readonly id: string; readonly url: string }[],
): string {
  if (!isPrefix(text, MIN_OF_ENDPOINT)) return text
  const found = endpoints.filter(({ id }) => id.startsWith(text.toLowerCase()))
  return only(text, found, ({ id, url }) => `${id} (${url})`)?.id ?? text
}

/** Expands a unique prefix of a receipt to the whole receipt; returns the text unchanged if nothing matches. */
export async function findReceipt(text: string, deliveries: Pick<DeliveryStore, 'receiptsWith'>): Promise<string> {
  if (!isPrefix(text)) return text
  const found = await deliveries.receiptsWith(text.toLowerCase(), MAX_NAMED + 1)
  return only(text, found, (receipt) => receipt) ?? text
}

/** Finds a refusal by its id, or by a unique prefix of it. */
export async function findRefusal(text: string, { refusals }: Pick<RefusedStore, 'refusals'>) {
  const idPrefix = text.toLowerCase()
  if (!isPrefix(idPrefix) && readUuid(idPrefix) === undefined) return undefined
  const limit = MAX_NAMED + 1
  const { refusals: found } = await refusals({ idPrefix }, { limit, scan: limit })
  return only(text, found, ({ refusalId }) => refusalId)
}
