import { AppError, type ErrorDefinition } from '#src/lib/app-error.ts'
import { displayName } from '#src/lib/display-name.ts'
import { readUuid } from '#src/lib/random.ts'
import type {
  ApiKeyStore,
  Customer,
  CustomerStore,
  DeliveryStore,
  RefusedStore,
  WebhookStore,
} from '#src/store/store.ts'

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

/** Expands a unique prefix of an id to the whole id; returns the text unchanged if nothing matches. */
async function expanded<Found extends { readonly id: string }>(
  text: string,
  find: (prefix: string, limit: number) => Promise<readonly Found[]>,
  describe: (each: Found) => string = ({ id }) => id,
  shortest = SHORTEST,
): Promise<string> {
  if (!isPrefix(text, shortest)) return text
  return only(text, await find(text.toLowerCase(), MAX_NAMED + 1), describe)?.id ?? text
}

export const findKeyId = (text: string, { withPrefix }: Pick<ApiKeyStore, 'withPrefix'>): Promise<string> =>
  expanded(text, withPrefix, ({ id, label }) => (label === '' ? id : `${id} (${label})`))

export const findEndpointId = (text: string, webhooks: Pick<WebhookStore, 'list'>): Promise<string> =>
  expanded(
    text,
    async (prefix) => (await webhooks.list()).filter(({ id }) => id.startsWith(prefix)),
    ({ id, url }) => `${id} (${url})`,
    MIN_OF_ENDPOINT,
  )

export const findReceipt = (text: string, { receiptsWith }: Pick<DeliveryStore, 'receiptsWith'>): Promise<string> =>
  expanded(text, async (prefix, limit) => (await receiptsWith(prefix, limit)).map((id) => ({ id })))

/** Finds a refusal by its id, or by a unique prefix of it. */
export async function findRefusal(text: string, { refusals }: Pick<RefusedStore, 'refusals'>) {
  const idPrefix = text.toLowerCase()
  if (!isPrefix(idPrefix) && readUuid(idPrefix) === undefined) return undefined
  const limit = MAX_NAMED + 1
  const { refusals: found } = await refusals({ idPrefix }, { limit, scan: limit })
  return only(text, found, ({ refusalId }) => refusalId)
}
