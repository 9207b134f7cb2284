import type { Static } from '@sinclair/typebox'
import type { ErasureSchema } from '#src/purchase/purge/erase.schema.ts'
import { post } from '../../lib/api.ts'
import { foreign } from '../../lib/foreign.tsx'
import { messageText } from '../../lib/messages.ts'
import { reloadView } from '../../lib/route.ts'
import { mayWrite } from '../../lib/session.ts'
import { t } from '../../lib/texts.ts'
import { useQuery } from '../../lib/use-query.ts'
import { ActionForm } from '../action-form.tsx'
import { type Closing, Notice, showDialog } from '../dialog.tsx'
import { Problem } from '../problem.tsx'

export const EraseDelivery = ({ receipt }: { readonly receipt: string }) => (
  <EraseButton what="delivery" name={receipt} path={`/Operator/delivery/${receipt}/erase`} />
)

export interface Order {
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

type Erasure = Static<typeof ErasureSchema>
type Left = NonNullable<Erasure['Left']> | Erasure['Unreached'][number]

interface Erased {
  readonly what: 'delivery' | 'order'
  readonly name: string
  readonly path: string
  readonly body?: Readonly<Record<string, string>>
}

/** Says what would be erased before anything is. */
function Erase({ what, name, path, body = {}, close }: Erased & Closing) {
  const { data, error } = useQuery((): Promise<Erasure> => post(path, { ...body, DryRun: true }), [path, body])
  const done = ({ Left }: Erasure) => {
    reloadView()
    if (Left !== null) showDialog(Rest, { left: Left })
  }
  return (
    <ActionForm
      title={`erase.${what}.title`}
      verb="erase.verb"
      danger
      waiting={data === undefined}
      run={(): Promise<Erasure> => post(path, body)}
      done={done}
      close={close}
    >
      <p>
        <b>{foreign(name)}</b>
      </p>
      {error && <Problem error={error} />}
      {data === undefined ? (
        !error && (
          <p class="note" aria-busy="true">
            {t('erase.counting')}
          </p>
        )
      ) : (
        <Counted what={what} found={data} />
      )}
    </ActionForm>
  )
}

interface CountedProperties {
  readonly what: Erased['what']
  readonly found: Erasure
}

const Counted = ({ what, found: { Deliveries, RefusedBodies, Unreached } }: CountedProperties) => (
  <>
    <h3>{t('erase.goes')}</h3>
    <ul>
      <li>{t('erase.deliveries', { count: Deliveries })}</li>
      <li>{t('erase.bodies', { count: RefusedBodies })}</li>
      <li>{t('erase.answers')}</li>
    </ul>
    <p>{t(`erase.${what}.also`)}</p>
    <h3>{t('erase.stays')}</h3>
    <p>{t('erase.kept')}</p>
    <h3>{t('erase.unreached')}</h3>
    <ul>
      {Unreached.map((each) => (
        <li key={each.Code}>{said(each)}</li>
      ))}
    </ul>
  </>
)

const said = ({ Message, Code: code, Values: values }: Left) => messageText({ code, values }, Message)

/** Says what the erasure could not do, and how an operator does it. */
const Rest = ({ left, close }: Closing & { readonly left: Left }) => (
  <Notice title="erase.left" close={close}>
    <p class="warning">{said(left)}</p>
  </Notice>
)
