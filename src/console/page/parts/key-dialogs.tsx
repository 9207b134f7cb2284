import type { Static } from '@sinclair/typebox'
import type {
  CustomerWithKeysSchema,
  IssuedKeySchema,
  RotatedKeySchema,
} from '#src/customer/operators/operators.schema.ts'
import { curlCommand, quoted } from '../../../page/curl.ts'
import { post } from '../lib/api.ts'
import { type Customer, displayName } from '../lib/customers.tsx'
import { foreign, Sentence } from '../lib/foreign.tsx'
import { type TextKey, t } from '../lib/texts.ts'
import { entriesOf, Field, numberOf, Overlap, showAction } from './action-form.tsx'
import { showSecret } from './secret.tsx'
import { showSeveral } from './several.tsx'

export type ApiKey = Static<typeof CustomerWithKeysSchema>['Keys'][number]
type Made = Static<typeof IssuedKeySchema>

/** After how many days a key ends. */
const Days = ({ hint }: { readonly hint: TextKey }) => (
  <Field name="Days" type="number" min="1" max="3650" label="key.days" hint={hint} />
)

const DAY_MILLISECONDS = 86_400_000

/** The end of a number of days from now; undefined if the field is empty. */
const endOf = (days: string | undefined): string | undefined => {
  const number = numberOf(days)
  return number === undefined ? undefined : new Date(Date.now() + number * DAY_MILLISECONDS).toISOString()
}

const keyPath = ({ KeyID }: ApiKey, action: string) => `/Operator/key/${encodeURIComponent(KeyID)}/${action}`

export const labelOf = ({ Label }: ApiKey): string => Label || t('key.noLabel')

/** Shows a new key, which no answer contains again. */
function showKey({ ApiKey }: Pick<Made, 'ApiKey'>, customer: Customer, done: () => void): void {
  done()
  showSecret({
    title: 'secret.title',
    about: 'secret.about',
    name: displayName(customer),
    secret: ApiKey,
    sample: deliveryCommand(ApiKey, customer.AuthorityRules),
  })
}

/** A delivery that a customer with these rules may send. */
function deliveryCommand(apiKey: string, rules: readonly string[]): string {
  const rule = rules.includes('*') ? '*' : (rules[0] ?? '*')
  const product = rule === '*' ? 'SKU-1' : rule.replace(/\*$/, '1')
  const body = { OrderID: 'PO-1', Status: 2, Products: [{ Sku: product, Quantity: 1 }] }
  return curlCommand({
    url: `${location.origin}/Purchase/update`,
    headers: [quoted(`ApiKey: ${apiKey}`)],
    body: JSON.stringify(body),
  })
}

export const issueKey = (customer: Customer, done: () => void): void =>
  showAction({
    title: 'action.issue.title',
    verb: 'action.issue.verb',
    run({ Label = '', Days, Networks, RateLimit }) {
      const networks = entriesOf(Networks, /[\s,]+/)
      return post<Made>(`/Operator/customer/${encodeURIComponent(customer.CustomerID)}/keys`, {
        Label: Label.trim(),
        ExpiresAt: endOf(Days),
        ...(networks.length > 0 && { Networks: networks }),
        RateLimit: numberOf(RateLimit),
      })
    },
    done: (made) => showKey(made, customer, done),
    children: (
      <>
        <Sentence text="action.issue.what" name={displayName(customer)} />
        <Field name="Label" autofocus maxlength={100} label="word.label" hint="key.label.hint" />
        <Days hint="key.days.never" />
        <Field name="Networks" as="textarea" rows={2} label="word.networks" hint="key.networks.hint" />
        <Field name="RateLimit" type="number" min="0" label="word.rateLimit" hint="key.rate.hint" />
      </>
    ),
  })

export const rotateKey = (customer: Customer, key: ApiKey, done: () => void): void =>
  showAction({
    title: 'action.rotate.title',
    verb: 'action.rotate.verb',
    run: ({ OverlapHours, Days }) =>
      post<Static<typeof RotatedKeySchema>>(keyPath(key, 'rotate'), {
        OverlapHours: numberOf(OverlapHours),
        ExpiresAt: endOf(Days),
      }),
    done: (made) => showKey(made, customer, done),
    children: (
      <>
        <Sentence text="action.rotate.what" name={displayName(customer)} />
        <KeyName apiKey={key} />
        <Overlap max="8760" hint="key.overlap.hint" />
        <Days hint="key.days.same" />
      </>
    ),
  })

export const revokeKey = (customer: Customer, key: ApiKey, done: () => void): void =>
  showAction({
    title: 'action.revoke.title',
    verb: 'action.revoke.verb',
    danger: true,
    run: () => post(keyPath(key, 'revoke')),
    done,
    children: (
      <>
        <Sentence text="action.revoke.what" name={displayName(customer)} />
        <KeyName apiKey={key} />
      </>
    ),
  })

const KeyName = ({ apiKey }: { readonly apiKey: ApiKey }) => (
  <p>
    <b>{foreign(labelOf(apiKey))}</b> <code>{apiKey.KeyID}</code>
  </p>
)

/** Revokes keys of a customer one after the other: each is an action of its own. */
export const revokeSeveral = (customer: Customer, keys: readonly ApiKey[], done: () => void): void =>
  showSeveral({
    title: 'several.revoke.title',
    verb: 'action.revoke.verb',
    items: keys,
    nameOf: (key) => `${labelOf(key)} ${key.KeyID.slice(0, 8)}`,
    run: (key) => post(keyPath(key, 'revoke')),
    done,
    children: <Sentence text="several.revoke.what" name={displayName(customer)} />,
  })
