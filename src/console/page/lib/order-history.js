import { get } from './api.js'
import { useLiveRows } from './live-rows.js'
import { usePages } from './pages.js'

const keyOf = (row) => row.ReceiptID

/** Browsers read these as steps within a path, even if they are percent-encoded. */
const isStep = (text) => text === '.' || text === '..'

async function load({ customer, orderId }, { cursor, signal } = {}) {
  const data = isStep(orderId)
    ? await get('/Purchase/deliveries', { customer, orderId, cursor }, { signal })
    : await get(`/Purchase/detail/${encodeURIComponent(orderId)}`, { customer, cursor }, { signal })
  return { rows: data.Deliveries, next: data.NextCursor }
}

/** The deliveries of an order, newest first, kept up to date. */
export function useOrderHistory(order) {
  const pages = usePages((place) => load(order, place), [order], keyOf)
  const fits = (row) => row.OrderID === order.orderId && row.CustomerID === order.customer
  useLiveRows(pages, { fits, readFirst: () => load(order) })
  return pages
}

/** The delivery before another one: undefined until the history is read so far, null if there is none. */
export function deliveryBefore(pages, receiptId) {
  const { rows, next } = pages.state.value
  const index = rows.findIndex((row) => row.ReceiptID === receiptId)
  const before = index < 0 ? undefined : rows[index + 1]
  return before ?? (next === null ? null : undefined)
}
