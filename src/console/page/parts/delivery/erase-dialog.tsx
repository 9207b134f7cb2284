import type { Static } from '@sinclair/typebox'
import type { ErasureSchema } from '#src/purchase/purge/erase.schema.ts'
import { post } from '../../lib/api.ts'
import { foreign } from '../../lib/foreign.tsx'
import { whole } from '../../lib/format.ts'
import { messageText } from '../../lib/messages.ts'
import { reloadView } from '../../lib/route.ts'
import { type TextKey, t } from '../../lib/texts.ts'
import { useQuery } from '../../lib/use-query.ts'
import { ActionForm } from '../action-form.tsx'
import { showDialog } from '../dialog.tsx'
import { Problem } from '../problem.tsx'

type Erasure = Static<typeof ErasureSchema>
type Left = NonNullable<Erasure['Left']> | Erasure['Unreached'][number]

interface Closing {
  readonly close: () => void
}

export interface Erased {
  readonly what: 'delivery' | 'order'
  readonly name: string
  readonly path: string
  readonly body?: Readonly<Record<string, string>>
}

/** Says what would be erased before anything is. */
export function Erase({ what, name, path, body = {}, close }: Erased & Closing) {
  const { data, error } = useQuery((): Promise<Erasure> => post(path, { ...body, DryRun: true }), [path, body])
  const done = ({ Left }: Erasure) => {
    reloadView()
    if (Left !== null) showDialog(Rest, { left: Left })
  }
  return (
    <ActionForm
      title={t(`erase.${what}.title`)}
      verb={t('erase.verb')}
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
      <li>{counted('erase.deliveries', Deliveries)}</li>
      <li>{counted('erase.bodies', RefusedBodies)}</li>
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

const counted = (key: TextKey, number: number) => t(key, { number, count: whole(number) })

const said = ({ Message, Code: code, Values: values }: Left) => messageText({ code, values }, Message)

/** Says what the erasure could not do, and how an operator does it. */
const Rest = ({ left, close }: Closing & { readonly left: Left }) => (
  <div class="action">
    <h2 id="dialog-title">{t('erase.left')}</h2>
    <p class="warning">{said(left)}</p>
    <p class="buttons">
      <button class="primary" autofocus onClick={close}>
        {t('word.close')}
      </button>
    </p>
  </div>
)
