import { get, useLoad } from '../lib/api.ts'
import { href, route } from '../lib/route.ts'
import { t } from '../lib/texts.ts'
import { DeliveryDetail } from '../parts/delivery/detail.tsx'
import { deliveryBefore, Timeline, useOrderHistory } from '../parts/delivery/timeline.tsx'
import { Problem } from '../parts/problem.tsx'

export function DeliveryView({ parts: [receiptId = ''] }) {
  const path = `/Purchase/delivery/${encodeURIComponent(receiptId)}`
  const { data, error, reload } = useLoad((signal) => get(path, {}, { signal }), [path])
  return (
    <>
      <h1>
        {t('word.delivery')} <code class="foreign">{receiptId}</code>
      </h1>
      {error && <Problem error={error} again={reload} />}
      {data === undefined ? (
        !error && (
          <p class="note" aria-busy="true">
            {t('detail.loading')}
          </p>
        )
      ) : (
        <WithOrder delivery={data} />
      )}
    </>
  )
}

function WithOrder({ delivery }) {
  if (delivery.OrderID === undefined) return <DeliveryDetail delivery={delivery} before={null} />
  return <WithTimeline delivery={delivery} />
}

function WithTimeline({ delivery }) {
  const pages = useOrderHistory({ customer: delivery.CustomerID, orderId: delivery.OrderID })
  const { show } = route.value.parameters
  const linkOf = (row) =>
    row.RefusalID === undefined
      ? href('delivery', [row.ReceiptID], { show })
      : href('order', [delivery.CustomerID, delivery.OrderID], { refusal: row.RefusalID })
  return (
    <div class="beside">
      <Timeline pages={pages} chosen={delivery.ReceiptID} linkOf={linkOf} />
      <DeliveryDetail delivery={delivery} before={deliveryBefore(pages, delivery.ReceiptID)} />
    </div>
  )
}
