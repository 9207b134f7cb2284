import { get, useLoad } from '../lib/api.ts'
import { customerName } from '../lib/customers.tsx'
import { foreign, statusBadge } from '../lib/foreign.tsx'
import { whole } from '../lib/format.ts'
import { href } from '../lib/route.ts'
import { t } from '../lib/texts.ts'
import { DeliveryDetail } from '../parts/delivery/detail.tsx'
import { EraseOrder } from '../parts/delivery/erase.tsx'
import { deliveryBefore, Timeline, timeOf, useOrderHistory } from '../parts/delivery/timeline.tsx'
import { Problem } from '../parts/problem.tsx'
import { RefusalDetail } from '../parts/refusal.tsx'

/** An order: its history beside what was chosen of it, which is the newest at first. */
export function OrderView({ parts: [customer = '', orderId = ''], parameters }) {
  const pages = useOrderHistory({ customer, orderId })
  const { rows, next, error } = pages.state.value
  const deliveries = rows.filter((row) => row.RefusalID === undefined)
  // An echo does not change the order.
  const current = deliveries.find((row) => !row.Duplicate) ?? deliveries[0]
  const chosen = parameters.refusal ?? parameters.delivery ?? rows[0]?.ReceiptID ?? rows[0]?.RefusalID
  const refusal = rows.find((row) => row.RefusalID === chosen)
  const linkOf = ({ ReceiptID, RefusalID }) =>
    href('order', [customer, orderId], { show: parameters.show, delivery: ReceiptID, refusal: RefusalID })
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
          {next === null && rows.length > 0 && <NotListed customer={customer} rows={rows} />}
        </>
      )}
    </>
  )
}

const hasBody = ({ ReceiptID, PayloadBytes }) => ReceiptID !== undefined || PayloadBytes !== undefined

function Chosen({ receiptId, before }) {
  const path = `/Purchase/delivery/${encodeURIComponent(receiptId)}`
  const { data, error, reload } = useLoad((signal) => get(path, {}, { signal }), [path])
  if (error) return <Problem error={error} again={reload} />
  if (data === undefined)
    return (
      <p class="note" aria-busy="true">
        {t('detail.loading')}
      </p>
    )
  return <DeliveryDetail delivery={data} before={before} />
}

const DAY_MILLISECONDS = 86_400_000
const NOT_LISTED = 'REFUSALS_NOT_LISTED'
const MAX_PAGES = 20

/** A page may be empty although more follow. */
async function countNotListed(query, signal) {
  let count = 0
  let cursor
  for (let read = 0; read < MAX_PAGES && cursor !== null; read++) {
    const { Refusals, NextCursor } = await get('/Purchase/refusals', { ...query, code: NOT_LISTED, cursor }, { signal })
    for (const { MessageValues } of Refusals) count += MessageValues?.count ?? 0
    cursor = NextCursor
  }
  return count
}

/** Says what was only counted a day around what is known of the order: nobody knows whether the order was among it. */
function NotListed({ customer, rows }) {
  const dayOf = (row) => Math.floor(Date.parse(timeOf(row)) / DAY_MILLISECONDS)
  const timeOfDay = (day) => new Date(day * DAY_MILLISECONDS).toISOString()
  const query = { customer, from: timeOfDay(dayOf(rows.at(-1)) - 1), to: timeOfDay(dayOf(rows[0]) + 2) }
  const { data: count = 0 } = useLoad((signal) => countNotListed(query, signal), [query])
  if (count === 0) return null
  return (
    <p class="note">
      {t('order.notListed', { count, shown: whole(count) })}{' '}
      <a href={href('refusals', [], { ...query, code: NOT_LISTED })}>{t('order.showNotListed')}</a>
    </p>
  )
}
