import type { Static } from '@sinclair/typebox'
import type {
  CustomerWithKeysSchema,
  IssuedKeySchema,
  RevokedKeySchema,
  RotatedKeySchema,
} from '#src/customer/operators/operators.schema.ts'
import { post } from '../lib/api.ts'
import { displayName } from '../lib/customers.tsx'
import { foreign } from '../lib/foreign.tsx'
import { t } from '../lib/texts.ts'
import type { Customer } from './action-dialogs.tsx'
import {
  ActionForm,
  deliveryCommand,
  entriesOf,
  Field,
  HOLE,
  numberOf,
  Secret,
  type Values,
  withForeign,
} from './action-form.tsx'
import { showDialog } from './dialog.tsx'
import { SeveralForm } from './several.tsx'

export type ApiKey = Static<typeof CustomerWithKeysSchema>['Keys'][number]
type Made = Static<typeof IssuedKeySchema>

interface OfCustomer {
  readonly customer: Customer
  readonly done: () => void
  readonly close: () => void
}

interface OfKey extends OfCustomer {
  readonly apiKey: ApiKey
}

/** After how many days a key ends. */
const Days = (more: Pick<Parameters<typeof Field>[0], 'hint' | 'problems'>) => (
  <Field name="Days" type="number" min="1" max="3650" label={t('key.days')} {...more} />
)

const DAY_MILLISECONDS = 86_400_000

/** The end of a number of days from now; undefined if the field is empty. */
const endOf = (days: string | undefined): string | undefined => {
  const number = numberOf(days)
  return number === undefined ? undefined : new Date(Date.now() + number * DAY_MILLISECONDS).toISOString()
}

const keyPath = ({ KeyID }: ApiKey, action: string) => `/Operator/key/${encodeURIComponent(KeyID)}/${action}`

/** What a key is called. */
export const labelOf = ({ Label }: ApiKey): string => Label || t('key.noLabel')

/** Shows a new key, which no answer contains again. */
function showKey({ ApiKey }: Pick<Made, 'ApiKey'>, customer: Customer, done: () => void): void {
  done()
  showDialog(Secret, {
    title: t('secret.title'),
    about: (email: string) => t('secret.about', { email }),
    email: displayName(customer),
    secret: ApiKey,
    sample: (key: string) => deliveryCommand(key, customer.AuthorityRules),
  })
}

export const issueKey = (customer: Customer, done: () => void): void => showDialog(IssueKey, { customer, done })

function IssueKey({ customer, done, close }: OfCustomer) {
  const run = ({ Label = '', Days, Networks, RateLimit }: Values) => {
    const networks = entriesOf(Networks, /[\s,]+/)
    return post<Made>(`/Operator/customer/${encodeURIComponent(customer.CustomerID)}/keys`, {
      Label: Label.trim(),
      ExpiresAt: endOf(Days),
      ...(networks.length > 0 && { Networks: networks }),
      RateLimit: numberOf(RateLimit),
    })
  }
  return (
    <ActionForm
      title={t('action.issue.title')}
      verb={t('action.issue.verb')}
      run={run}
      done={(made) => showKey(made, customer, done)}
      close={close}
    >
      {(problems) => (
        <>
          <p>{withForeign(t('action.issue.what', { email: HOLE }), displayName(customer))}</p>
          <Field
            name="Label"
            autofocus
            maxlength={100}
            label={t('word.label')}
            hint={t('key.label.hint')}
            problems={problems}
          />
          <Days hint={t('key.days.never')} problems={problems} />
          <Field
            name="Networks"
            as="textarea"
            rows={2}
            label={t('word.networks')}
            hint={t('key.networks.hint')}
            problems={problems}
          />
          <Field
            name="RateLimit"
            type="number"
            min="0"
            label={t('word.rateLimit')}
            hint={t('key.rate.hint')}
            problems={problems}
          />
        </>
      )}
    </ActionForm>
  )
}

export const rotateKey = (customer: Customer, key: ApiKey, done: () => void): void =>
  showDialog(RotateKey, { customer, apiKey: key, done })

function RotateKey({ customer, apiKey, done, close }: OfKey) {
  const run = ({ OverlapHours, Days }: Values) =>
    post<Static<typeof RotatedKeySchema>>(keyPath(apiKey, 'rotate'), {
      OverlapHours: numberOf(OverlapHours),
      ExpiresAt: endOf(Days),
    })
  return (
    <ActionForm
      title={t('action.rotate.title')}
      verb={t('action.rotate.verb')}
      run={run}
      done={(made) => showKey(made, customer, done)}
      close={close}
    >
      {(problems) => (
        <>
          <p>{withForeign(t('action.rotate.what', { email: HOLE }), displayName(customer))}</p>
          <KeyName apiKey={apiKey} />
          <Field
            name="OverlapHours"
            type="number"
            min="0"
            max="8760"
            required
            autofocus
            defaultValue="24"
            label={t('key.overlap')}
            hint={t('key.overlap.hint')}
            problems={problems}
          />
          <Days hint={t('key.days.same')} problems={problems} />
        </>
      )}
    </ActionForm>
  )
}

export const revokeKey = (customer: Customer, key: ApiKey, done: () => void): void =>
  showDialog(RevokeKey, { customer, apiKey: key, done })

const RevokeKey = ({ customer, apiKey, done, close }: OfKey) => (
  <ActionForm
    title={t('action.revoke.title')}
    verb={t('action.revoke.verb')}
    danger
    run={() => post<Static<typeof RevokedKeySchema>>(keyPath(apiKey, 'revoke'))}
    done={done}
    close={close}
  >
    <p>{withForeign(t('action.revoke.what', { email: HOLE }), displayName(customer))}</p>
    <KeyName apiKey={apiKey} />
  </ActionForm>
)

const KeyName = ({ apiKey }: Pick<OfKey, 'apiKey'>) => (
  <p>
    <b>{foreign(labelOf(apiKey))}</b> <code>{apiKey.KeyID}</code>
  </p>
)

/** Revokes keys of a customer one after the other: each is an action of its own. */
export const revokeSeveral = (customer: Customer, keys: readonly ApiKey[], done: () => void): void =>
  showDialog(RevokeSeveral, { customer, keys, done })

const RevokeSeveral = ({ customer, keys, done, close }: OfCustomer & { readonly keys: readonly ApiKey[] }) => (
  <SeveralForm
    title={t('several.revoke.title', { count: keys.length })}
    what={withForeign(t('several.revoke.what', { email: HOLE }), displayName(customer))}
    verb={t('action.revoke.verb')}
    items={keys}
    nameOf={(key) => `${labelOf(key)} ${key.KeyID.slice(0, 8)}`}
    run={(key) => post(keyPath(key, 'revoke'))}
    done={done}
    close={close}
  />
)
