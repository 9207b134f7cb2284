import { OPERATOR } from '#src/customer/find-customer.ts'
import { AppError, inOtherWords } from '#src/lib/app-error.ts'
import { readUuid } from '#src/lib/random.ts'
import { isStorable } from '#src/lib/text.ts'
import { createFindOrder } from '#src/purchase/orders/find-order.ts'
import { purchaseErrors } from '#src/purchase/purchase.errors.ts'
import type { Delivery, DeliverySummary, Store, Webhook } from '#src/store/store.ts'

/** An order, of the customer of the endpoint unless one is named; the only one with this id if the endpoint gets those of all. */
export interface ChosenOrder {
  readonly orderId: string
  /** E-mail address or id. */
  readonly customer?: string | undefined
}

const PAGE = 500
/** The usual message is for callers that name the customer in the query. */
const AMBIGUOUS = 'Several customers have an order with this id: name the customer, by id or e-mail address.'

/** Finds the deliveries that an operator names. */
export function createChosen({ deliveries, customers }: Pick<Store, 'deliveries' | 'customers'>) {
  const findOrder = createFindOrder({ deliveries, customers })
  return {
    /** Undefined if the store has no such delivery. */
    async receipt(receiptId: string): Promise<Delivery | undefined> {
      const id = readUuid(receiptId)
      return id === undefined ? undefined : deliveries.findByReceipt(id)
    },

    /** Yields the deliveries of an order in pages, the newest first. Throws ORDER_NOT_FOUND or ORDER_AMBIGUOUS. */
    async *order(
      { customerId }: Pick<Webhook, 'customerId'>,
      { orderId, customer }: ChosenOrder,
    ): AsyncGenerator<DeliverySummary[], undefined> {
      if (!isStorable(orderId)) throw new AppError(purchaseErrors.orderNotFound)
      const found = await findOrder(OPERATOR, customer ?? customerId ?? undefined, orderId).catch(
        inOtherWords(purchaseErrors.orderAmbiguous, AMBIGUOUS),
      )
      for (let from: number | undefined; ; ) {
        const page = await deliveries.history(found, orderId, { from, limit: PAGE + 1 })
        if (page.length === 0) throw new AppError(purchaseErrors.orderNotFound)
        yield page.slice(0, PAGE)
        from = page[PAGE]?.position
        if (from === undefined) return
      }
    },
  }
}
