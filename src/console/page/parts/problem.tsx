import { messageText } from '../lib/messages.ts'
import { hasText, t } from '../lib/texts.ts'

/** Refusals whose message says more than their code, such as which of several networks is wrong. The server says it in English only. */
const NAMING = [
  'ERASE_FORBIDDEN',
  'INVALID_REQUEST',
  'LOGIN_THROTTLED',
  'METHOD_NOT_ALLOWED',
  'NETWORK_INVALID',
  'STORE_FORBIDDEN',
  'WEBHOOK_HEADER_INVALID',
]

/** Returns the text of the page for a refusal, or that of the server if the page has none. */
export function problemText({ code, message }) {
  const key = `error.${code}`
  if (hasText(key)) return t(key)
  const english = message || t('error.unknown')
  return NAMING.includes(code) ? english : messageText({ code, values: {} }, english)
}

/** An error with what to do now: try again, or quote the request id. */
export function Problem({ error, again }) {
  return (
    <div class="problem" role="alert">
      <p>{problemText(error)}</p>
      {error.requestId && (
        <p class="note">
          {t('word.request')} <code>{error.requestId}</code>
        </p>
      )}
      {again && <button onClick={again}>{t('error.again')}</button>}
    </div>
  )
}
