import { foreign } from '../lib/foreign.tsx'
import { href, route, type ViewProps } from '../lib/route.ts'
import { t } from '../lib/texts.ts'
import { type Delivery, DeliveryDetail, useDelivery } from '../parts/delivery/detail.tsx'
import { deliveryBefore, type Entry, isRefusal, Timeline, useOrderHistory } from '../parts/delivery/timeline.tsx'
import { Loaded } from '../parts/problem.tsx'

export function DeliveryView({ parts: [receiptId = ''] }: ViewProps) {
  const read = useDelivery(receiptId)
  const orderId = read.data?.OrderID
  return (
    <>
      <h1>
        {t('word.delivery')} {orderId !== undefined && foreign(orderId)}
      </h1>
      <Loaded read={read} tall>
        {(delivery) =>
          orderId === undefined ? (
            <DeliveryDetail delivery={delivery} before={null} />
          ) : (
            <WithTimeline delivery={delivery} orderId={orderId} />
          )
        }
      </Loaded>
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
