import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError } from '../../lib/request.ts'
import { signIn } from '../../lib/session/sign-in.ts'
import { ended, isShared, me } from '../../lib/session.ts'
import { hasText, t } from '../../lib/texts.ts'
import { Mark } from '../icon.tsx'
import { problemText } from '../problem.tsx'
import { Preferences } from './menu.tsx'

/** The state of a form that signs in: `submit` for the form, whether it is `busy`, and what was wrong, as `problem`. */
export function useSignIn(email?: string, region?: string) {
  const [error, setError] = useState<ApiError>()
  const [busy, setBusy] = useState(false)
  const submit = async (event: SubmitEvent & { readonly currentTarget: HTMLFormElement }) => {
    event.preventDefault()
    const typed = new FormData(event.currentTarget)
    const field = (name: string) => typed.get(name)?.toString() ?? ''
    setBusy(true)
    setError(undefined)
    try {
      await signIn({ email: email ?? field('email'), password: field('password'), region: region ?? field('region') })
    } catch (problem) {
      setError(problem instanceof ApiError ? problem : new ApiError(0, undefined))
      setBusy(false)
    }
  }
  const problem = error && (
    <p class="failed" role="alert">
      {email !== undefined && error.code === 'LOGIN_REFUSED' ? t('session.wrong') : wordsFor(error)}
    </p>
  )
  return { submit, busy, problem }
}

export function SignIn() {
  const { submit, busy, problem } = useSignIn()
  const email = me.value?.Email ?? ''
  const first = useRef<HTMLInputElement>(null)
  useEffect(() => {
    const before = document.title
    document.title = t('product')
    first.current?.focus()
    return () => {
      document.title = before
    }
  }, [])
  return (
    <main class="sign-in">
      <form onSubmit={submit} aria-labelledby="sign-in-title">
        <h1 id="sign-in-title" class="brand">
          <Mark />
          {t('product')} <small>{t('signIn.title')}</small>
        </h1>
        {ended.value && (
          <p class="note" role="status">
            {t(`signIn.${ended.value}`)}
          </p>
        )}
        <label>
          {t('word.email')}
          <input
            name="email"
            type="email"
            autocomplete="username"
            required
            defaultValue={email}
            ref={email ? null : first}
          />
        </label>
        <label>
          {t('signIn.password')}
          <input name="password" type="password" autocomplete="current-password" required ref={email ? first : null} />
        </label>
        <details>
          <summary>{t('signIn.more')}</summary>
          <label>
            {t('signIn.region')}
            <input
              name="region"
              maxlength={2}
              pattern="[A-Za-z]{2}"
              placeholder="TR"
              autocomplete="off"
              defaultValue={me.value?.Region ?? ''}
            />
          </label>
        </details>
        {problem}
        <button class="primary" disabled={busy}>
          {t('signIn.submit')}
        </button>
        {!isShared.value && <p class="note">{t('signIn.oneTab')}</p>}
      </form>
      <Preferences />
    </main>
  )
}

function wordsFor(error: ApiError): string {
  const key = `signIn.error.${error.code}`
  return hasText(key) ? t(key, { seconds: error.retryAfter ?? '' }) : problemText(error)
}
