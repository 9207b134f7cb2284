import type { Told } from '#src/webhook/endpoints/fates.ts'
import { table } from '../output/table.ts'
import type { Times } from '../output/times.ts'

/** What became of deliveries, for a terminal. */
export function toldText(told: readonly Told[], times: Times, columns: number | undefined): string {
  const rows = told.map((each) => {
    const { receiptId, delivery, state, at } = each
    return [
      state,
      at === null ? '' : times.text(at),
      detailOf(each, times),
      delivery === null ? '' : times.text(delivery.receivedAt),
      delivery === null ? '' : `${delivery.status}${delivery.duplicate ? ' duplicate' : ''}`,
      receiptId,
    ]
  })
  return table(['state', times.heading('since'), '', times.heading('received'), 'status', 'receipt'], rows, columns)
}

function detailOf({ state, at, answer, failures, error, nextTryAt }: Told, times: Times): string {
  const failed = `${failures} failed: ${error ?? ''}`
  switch (state) {
    case 'confirmed':
      if (answer === null || at === null) return 'longer ago than times are kept'
      return `answered ${answer.status} after ${Math.round(answer.milliseconds)} ms`
    case 'failing':
      return nextTryAt === null ? failed : `${failed}; next try ${times.text(nextTryAt)}`
    case 'set-aside':
      return failed
    case 'waiting':
      return 'still to be sent'
    case 'not-wanted':
      return 'the endpoint does not get such deliveries'
    case 'purged':
      return 'the store has no deliveries of that time any more'
  }
}
