import { RECEIPT_ID } from '#src/lib/json/schema-parts.ts'

/** Bodies that the contract shows. */
export const NEW_ENDPOINT_EXAMPLES = {
  all: { summary: 'Everything from now on', value: { URL: 'https://backoffice.example/webhooks' } },
  some: {
    summary: 'Only some deliveries of one customer, from a time on',
    value: {
      URL: 'https://backoffice.example/webhooks',
      Customer: 'shop@example.com',
      Statuses: [0, 3],
      Duplicates: false,
      From: '2026-11-21T00:00:00Z',
      GiveUpSeconds: 259_200,
    },
  },
}

export const CHANGE_EXAMPLES = {
  url: { summary: 'Another URL', value: { URL: 'https://backoffice.example/webhooks/v2' } },
  filter: { summary: 'All customers, and only some Statuses', value: { Customer: null, Statuses: [0, 3] } },
  headers: {
    summary: 'A header that a gateway wants, and one that goes',
    value: { Headers: { Authorization: 'Bearer from-the-gateway', 'X-Former': null } },
  },
}

export const REPLAY_EXAMPLES = {
  setAside: { summary: 'Everything that is set aside', value: { SetAside: true } },
  from: { summary: 'Everything since a time', value: { From: '2026-11-21T00:00:00Z' } },
  stretch: {
    summary: 'Some deliveries of one day',
    value: { From: '2026-11-21T00:00:00Z', To: '2026-11-22T00:00:00Z', Statuses: [0, 3] },
  },
  order: { summary: 'The deliveries of one order', value: { OrderID: 'PO-1' } },
  cancel: { summary: 'No more of the stretch that is under way', value: { Cancel: true } },
  one: { summary: 'One delivery', value: { ReceiptID: RECEIPT_ID } },
}
