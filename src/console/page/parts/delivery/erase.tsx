import { mayWrite } from '../../lib/session.ts'
import { t } from '../../lib/texts.ts'
import { showDialog } from '../dialog.tsx'
import { Erase, type Erased } from './erase-dialog.tsx'

export const EraseDelivery = ({ receipt }: { readonly receipt: string }) => (
  <EraseButton what="delivery" name={receipt} path={`/Operator/delivery/${receipt}/erase`} />
)

interface Order {
  readonly customer: string
  readonly orderId: string
}

/** Browsers read these as steps within a path, even if they are percent-encoded. */
export const isStep = (text: string): boolean => text === '.' || text === '..'

export const EraseOrder = ({ customer, orderId }: Order) =>
  !isStep(orderId) && (
    <EraseButton
      what="order"
      name={orderId}
      path={`/Operator/order/${encodeURIComponent(orderId)}/erase`}
      body={{ Customer: customer }}
    />
  )

const EraseButton = (erased: Erased) =>
  mayWrite.value && (
    <p class="danger-zone">
      <button class="danger" onClick={() => showDialog(Erase, erased)}>
        {t(`erase.${erased.what}`)}
      </button>
    </p>
  )
