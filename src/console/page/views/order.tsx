import type { Static } from '@sinclair/typebox'
import type { RefusalsSchema } from '#src/purchase/refusals/refusals.schema.ts'
import { get } from '../lib/api.ts'
import { customerName } from '../lib/customers.tsx'
import { foreign, statusBadge } from '../lib/foreign.tsx'
import { href, type ViewProps } from '../lib/route.ts'
import { t } from '../lib/texts.ts'
import { useQuery } from '../lib/use-query.ts'
import { DeliveryDetail, useDelivery } from '../parts/delivery/detail.tsx'
import { EraseOrder } from '../parts/delivery/erase.tsx'
import type { Before } from '../parts/delivery/payload-changes.tsx'
import {
  deliveryBefore,
  type Entry,
  isDelivery,
  isRefusal,
  keyOf,
  Timeline,
  timeOf,
  useOrderHistory,
} from '../parts/delivery/timeline.tsx'
import { Loaded, Problem } from '../parts/problem.tsx'
import { RefusalDetail } from '../parts/refusal.tsx'

/** An order: its history beside what was chosen of it, which is the newest at first. */
export function OrderView({ parts: [customer = '', orderId = ''], parameters }: ViewProps) {
  const pages = useOrderHistory({ customer, orderId })
  const { rows, next, error } = pages.state.value
  const [newest, oldest] = [rows[0], rows.at(-1)]
  const deliveries = rows.filter(isDelivery)
  // An echo does not change the order.
  const current = deliveries.find((row) => !row.Duplicate) ?? deliveries[0]
  const chosen = parameters.refusal ?? parameters.delivery ?? (newest && keyOf(newest))
  const refusal = rows.filter(isRefusal).find(({ RefusalID }) => RefusalID === chosen)
  const linkOf = (row: Entry) =>
    href('order', [customer, orderId], {
      show: parameters.show,
      [isRefusal(row) ? 'refusal' : 'delivery']: keyOf(row),
    })
  return (
    <>
      <h1>
        {t('word.order')} {foreign(orderId)}
      </h1>
      <p>
        {current
          ? statusBadge(current.Status)
          : rows.length > 0 && next === null && <span class="badge failed">{t('order.refusedOnly')}</span>}{' '}
        <a href={href('customer', [customer])}>{customerName(customer)}</a>
      </p>
      {error && rows.length === 0 ? (
        <Problem error={error} again={pages.more} />
      ) : (
        <>
          <div class="beside">
            <Timeline pages={pages} chosen={chosen} linkOf={linkOf} />
            {refusal ? (
              <section key={chosen}>
                <RefusalDetail refusal={refusal} />
              </section>
            ) : (
              chosen &&
              !parameters.refusal && <Chosen key={chosen} receiptId={chosen} before={deliveryBefore(pages, chosen)} />
            )}
          </div>
          {(next !== null || rows.some(hasBody)) && <EraseOrder customer={customer} orderId={orderId} />}
          {next === null && newest && oldest && <NotListed customer={customer} newest={newest} oldest={oldest} />}
        </>
      )}
    </>
  )
}

const hasBody = (row: Entry) => !isRefusal(row) || row.PayloadBytes !== undefined

function Chosen({ receiptId, before }: { readonly receiptId: string; readonly before: Before | null | undefined }) {
  return (
    <Loaded read={useDelivery(receiptId)}>
      {(delivery) => <DeliveryDetail delivery={delivery} before={before} />}
    </Loaded>
  )
}

const DAY_MILLISECONDS = 86_400_000
const NOT_LISTED = 'REFUSALS_NOT_LISTED'
const MAX_PAGES = 20

const countIn = (values: object = {}): number => ('count' in values ? Number(values.count) : 0)

interface NotListedQuery {
  readonly customer: string
  readonly from: string
  readonly to: string
}

/** A page may be empty although more follow. */
async function countNotListed(query: NotListedQuery, signal: AbortSignal): Promise<number> {
  let count = 0
  let cursor: string | null | undefined
  for (let read = 0; read < MAX_PAGES && cursor !== null; read++) {
    const parameters = { ...query, code: NOT_LISTED, cursor }
    const data: Static<typeof RefusalsSchema> = await get('/Purchase/refusals', parameters, signal)
    for (const { MessageValues } of data.Refusals) count += countIn(MessageValues)
    cursor = data.NextCursor
  }
  return count
}

/** Says what was only counted a day around what is known of the order: nobody knows whether the order was among it. */
function NotListed({
  customer,
  newest,
  oldest,
}: {
  readonly customer: string
  readonly newest: Entry
  readonly oldest: Entry
}) {
  const dayOf = (row: Entry) => Math.floor(Date.parse(timeOf(row)) / DAY_MILLISECONDS)
  const timeOfDay = (day: number) => new Date(day * DAY_MILLISECONDS).toISOString()
  const query = { customer, from: timeOfDay(dayOf(oldest) - 1), to: timeOfDay(dayOf(newest) + 2) }
  const { data: count = 0 } = useQuery((signal: AbortSignal) => countNotListed(query, signal), [query])
  if (count === 0) return null
  return (
    <p class="note">
      {t('order.notListed', { count })}{' '}
      <a href={href('refusals', [], { ...query, code: NOT_LISTED })}>{t('order.showNotListed')}</a>
    </p>
  )
}
