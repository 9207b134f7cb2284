import { mayWrite, me } from '../../lib/session.ts'
import { t } from '../../lib/texts.ts'
import { showDialog } from '../dialog.tsx'

export const EraseDelivery = ({ delivery: { ReceiptID, Erased } }) =>
  !Erased && <Button what="delivery" name={ReceiptID} path={`/Operator/delivery/${ReceiptID}/erase`} />

/** Browsers read these as steps within a path, even if they are percent-encoded. */
const isStep = (text) => text === '.' || text === '..'

export const EraseOrder = ({ customer, orderId }) =>
  !isStep(orderId) && (
    <Button
      what="order"
      name={orderId}
      path={`/Operator/order/${encodeURIComponent(orderId)}/erase`}
      body={{ Customer: customer }}
    />
  )

const Button = (target) =>
  mayWrite.value && (
    <p class="buttons">
      <button class="danger" onClick={() => ask(target)}>
        {t(`erase.${target.what}`)}
      </button>
    </p>
  )

/** Loads the dialog only now: most who open the page erase nothing. */
async function ask(target) {
  const signedIn = me.value
  const { Erase } = await import('./erase-dialog.tsx').catch(() => ({ Erase: NotLoaded }))
  if (me.value === signedIn) showDialog(Erase, target)
}

const NotLoaded = ({ close }) => (
  <div class="action">
    <h2 id="dialog-title">{t('error.NETWORK')}</h2>
    <p class="buttons">
      <button autofocus onClick={close}>
        {t('word.close')}
      </button>
    </p>
  </div>
)
