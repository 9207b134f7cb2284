import { messageText } from '../lib/messages.ts'
import type { ApiError } from '../lib/request.ts'
import { href } from '../lib/route.ts'
import { hasText, t, textOf } from '../lib/texts.ts'

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
export function problemText({ code, message, problems, messageCode, messageValues: values }: ApiError): string {
  const key = `error.${code}`
  if (hasText(key)) return t(key)
  const english = message || t('error.unknown')
  if (code !== 'INVALID_REQUEST' || problems.length === 0)
    return messageText({ code: messageCode ?? code, values }, english)
  const all = problems.map((problem) => `${fieldName(problem.path)} ${fieldText(problem)}`)
  return messageText({ code: 'INVALID_REQUEST_AT', values: { problems: all } }, english)
}

/** An error with what to do now: try again, or quote the request id. Where the server does not know an address, another page may be due. */
export function Problem({ error, again }: { readonly error: ApiError; readonly again?: () => void }) {
  const isOld = error.code === 'NOT_FOUND'
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

/** At an address that no view has. */
export const Missing = () => (
  <>
    <h1>{t('word.missing')}</h1>
    <p class="empty">
      {t('missing.what')} <a href={href('now')}>{t('missing.now')}</a>
    </p>
  </>
)
