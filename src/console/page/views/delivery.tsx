import type { Static } from '@sinclair/typebox'
import type { DeliveryOriginSchema } from '#src/purchase/purchase.schema.ts'
import { get } from '../lib/api.ts'
import { foreign } from '../lib/foreign.tsx'
import { href, route, type ViewProps } from '../lib/route.ts'
import { t } from '../lib/texts.ts'
import { useQuery } from '../lib/use-query.ts'
import { DeliveryDetail } from '../parts/delivery/detail.tsx'
import { deliveryBefore, type Entry, isRefusal, Timeline, useOrderHistory } from '../parts/delivery/timeline.tsx'
import { Problem } from '../parts/problem.tsx'

type Delivery = Static<typeof DeliveryOriginSchema>

export function DeliveryView({ parts: [receiptId = ''] }: ViewProps) {
  const path = `/Purchase/delivery/${encodeURIComponent(receiptId)}`
  const { data, error, reload } = useQuery(
    (signal: AbortSignal): Promise<Delivery> => get(path, {}, { signal }),
    [path],
  )
  const orderId = data?.OrderID
  return (
    <>
      <h1>
        {t('word.delivery')} {orderId !== undefined && foreign(orderId)}
      </h1>
      {error && <Problem error={error} again={reload} />}
      {data === undefined ? (
        !error && (
          <p class="note" aria-busy="true">
            {t('detail.loading')}
          </p>
        )
      ) : orderId === undefined ? (
        <DeliveryDetail delivery={data} before={null} />
      ) : (
        <WithTimeline delivery={data} orderId={orderId} />
      )}
    </>
  )
}

function WithTimeline({ delivery, orderId }: { readonly delivery: Delivery; readonly orderId: string }) {
  const { CustomerID: customer, ReceiptID } = delivery
  const pages = useOrderHistory({ customer, orderId })
  const { show } = route.value.parameters
  const linkOf = (row: Entry) =>
    isRefusal(row)
      ? href('order', [customer, orderId], { refusal: row.RefusalID })
      : href('delivery', [row.ReceiptID], { show })
  return (
    <div class="beside">
      <Timeline pages={pages} chosen={ReceiptID} linkOf={linkOf} />
      <DeliveryDetail delivery={delivery} before={deliveryBefore(pages, ReceiptID)} />
    </div>
  )
}
