import type { ComponentChildren } from 'preact'
import { type Customers, displayName } from '../lib/customers.tsx'
import { foreign, Sentence } from '../lib/foreign.tsx'
import { messageText } from '../lib/messages.ts'
import type { ApiError } from '../lib/request.ts'
import { href, route, setParameters } from '../lib/route.ts'
import { hasText, t, textOf } from '../lib/texts.ts'
import { type Read, useGet } from '../lib/use-query.ts'

const MAX_MEANT = 10

/** What is wrong with a field, in the chosen language. */
export const fieldText = ({
  message,
  messageCode: code,
  messageValues: values,
}: ApiError['problems'][number]): string => (code === undefined ? message : messageText({ code, values }, message))

/** What the page calls the field at a path, such as `query/address` or `/RateLimit`. */
function fieldName(path: string): string {
  const name = path.split('/').at(-1) ?? ''
  return textOf(`word.${name.charAt(0).toLowerCase()}${name.slice(1)}`) ?? path
}

/** Returns the text of the page for a refusal, or that of the server if the page has none. */
export function problemText(error: ApiError): string {
  const { code, message, problems } = error
  const key = `error.${code}`
  if (hasText(key)) return t(key)
  const english = message || t('error.unknown')
  const [problem] = problems
  if (code === 'INVALID_REQUEST' && problem !== undefined) {
    const all = problems.map((each) => `${fieldName(each.path)} ${fieldText(each)}`)
    return messageText({ code: 'INVALID_REQUEST_AT', values: { problems: all } }, english)
  }
  const { messageCode = code, messageValues: values } = problem ?? error
  return messageText({ code: messageCode, values }, english)
}

/** An error with what to do now: try again, or quote the request id. Where the server does not know an address, another page may be due. */
export function Problem({ error, again }: { readonly error: ApiError; readonly again?: () => void }) {
  const isOld = error.code === 'NOT_FOUND'
  const { customer } = route.value.parameters
  if (error.code === 'CUSTOMER_NOT_FOUND' && customer) return <Meant text={customer} />
  return (
    <div class="problem" role="alert">
      <p>{problemText(error)}</p>
      {error.requestId && (
        <p class="note">
          {t('word.request')} <code>{error.requestId}</code>
        </p>
      )}
      {isOld && <button onClick={() => location.reload()}>{t('error.reload')}</button>}
      {again && !isOld && <button onClick={again}>{t('error.again')}</button>}
    </div>
  )
}

/** Offers the customers that a filter may have meant: it takes an id or an e-mail address, and people enter a part of a name. */
function Meant({ text }: { readonly text: string }) {
  const read = useGet<Customers>('/Operator/customers', { search: text, limit: MAX_MEANT })
  return (
    <Loaded read={read}>
      {({ Customers: meant }) => (
        <div class="empty" role="alert">
          <Sentence text={meant.length > 0 ? 'customer.which' : 'customer.whichNone'} name={text} />
          <p class="line">
            {meant.map((one) => (
              <button key={one.CustomerID} onClick={() => setParameters({ customer: one.CustomerID })}>
                {foreign(displayName(one))}
              </button>
            ))}
            <button class="quiet" onClick={() => setParameters({ customer: undefined })}>
              {t('filters.clear')}
            </button>
          </p>
        </div>
      )}
    </Loaded>
  )
}

interface LoadedProperties<Data> {
  readonly read: Read<Data>
  /** It takes much of the view. */
  readonly tall?: boolean
  readonly children: (data: Data) => ComponentChildren
}

/** What was loaded, or that it is loading, or why it cannot be. */
export const Loaded = <Data,>({ read: { data, error, reload }, tall, children }: LoadedProperties<Data>) => (
  <>
    {error && <Problem error={error} again={reload} />}
    {data !== undefined && children(data)}
    {data === undefined && !error && <div class={tall ? 'skeleton tall' : 'skeleton'} aria-busy={true}></div>}
  </>
)

/** At an address that no view has. */
export const Missing = () => (
  <>
    <h1>{t('word.missing')}</h1>
    <p class="empty">
      {t('missing.what')} <a href={href('now')}>{t('missing.now')}</a>
    </p>
  </>
)
