import { withoutMark } from '#src/lib/byte-text.ts'
import { writeJson } from '#src/lib/json/raw.ts'
import { OPERATOR } from '#src/purchase/caller.ts'
import type { Command } from '../command.ts'
import { deliveryJson, statusText, timeText } from '../output/show-delivery.ts'
import { withPurchases } from '../with-purchases.ts'

export const deliveryShow: Command = {
  name: 'delivery show',
  about: 'Show one delivery and what was delivered',
  positionals: ['RECEIPTID'],
  options: { payload: { type: 'boolean', about: 'Only what was delivered, byte for byte' } },
  async run(input, context) {
    const [receiptId = ''] = input.positionals
    const { delivery, email } = await withPurchases(context, async ({ readBack, emails }) => {
      const delivery = await readBack.delivery(OPERATOR, receiptId)
      return { delivery, email: (await emails()).get(delivery.customerId) }
    })
    if (input.flag('payload')) context.outBytes(delivery.payload)
    else if (input.json) context.out(writeJson(deliveryJson(delivery, delivery.payload)).toString())
    else {
      const { orderId, status, duplicate, receivedAt, customerId, payload } = delivery
      context.out(
        [
          delivery.receiptId,
          `  received   ${timeText(receivedAt)} UTC`,
          `  customer   ${email ?? customerId}`,
          `  order      ${orderId ?? 'none was found in it'}`,
          `  status     ${statusText(status)}${duplicate ? '   (a duplicate: it changed nothing)' : ''}`,
          `  payload    ${payload.length} bytes`,
          '',
          pretty(payload),
        ].join('\n'),
      )
    }
  },
}

/** For people, who may take a rounded number; --payload has the bytes. */
const pretty = (payload: Uint8Array): string =>
  JSON.stringify(JSON.parse(withoutMark(payload).toString()), undefined, 2).replace(
    /[\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    '\ufffd',
  )
