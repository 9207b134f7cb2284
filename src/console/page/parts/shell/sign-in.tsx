import { useEffect, useState } from 'preact/hooks'
import { ended, signIn } from '../../lib/session.ts'
import { hasText, t } from '../../lib/texts.ts'
import { problemText } from '../problem.tsx'
import { Preferences } from './menu.tsx'

export function SignIn() {
  const [error, setError] = useState()
  const [busy, setBusy] = useState(false)
  useEffect(() => {
    document.title = t('product')
  }, [])
  const submit = async (event) => {
    event.preventDefault()
    const { email, password, region } = Object.fromEntries(new FormData(event.currentTarget))
    setBusy(true)
    setError(undefined)
    try {
      await signIn({ email, password, region })
    } catch (problem) {
      setError(problem)
      setBusy(false)
    }
  }
  return (
    <main class="sign-in" id="content">
      <form onSubmit={submit} aria-labelledby="sign-in-title">
        <h1 id="sign-in-title">
          {t('product')} <small>{t('signIn.title')}</small>
        </h1>
        {ended.value && (
          <p class="note" role="status">
            {t(`signIn.${ended.value}`)}
          </p>
        )}
        <label>
          {t('word.email')}
          <input name="email" type="email" autocomplete="username" required autofocus />
        </label>
        <label>
          {t('signIn.password')}
          <input name="password" type="password" autocomplete="current-password" required />
        </label>
        <details>
          <summary>{t('signIn.more')}</summary>
          <label>
            {t('signIn.region')}
            <input name="region" maxlength="2" pattern="[A-Za-z]{2}" placeholder="TR" autocomplete="off" />
          </label>
        </details>
        {error && (
          <p class="failed" role="alert">
            {wordsFor(error)}
          </p>
        )}
        <button class="primary" disabled={busy}>
          {t('signIn.submit')}
        </button>
      </form>
      <Preferences />
    </main>
  )
}

function wordsFor(error) {
  const key = `signIn.error.${error.code}`
  return hasText(key) ? t(key, { seconds: error.retryAfter ?? '' }) : problemText(error)
}
