import { useRef } from 'preact/hooks'
import { endQuestion, question } from '../../lib/session/question.ts'
import { me } from '../../lib/session.ts'
import { t } from '../../lib/texts.ts'
import { useModal } from '../dialog.tsx'
import { useSignIn } from './sign-in.tsx'

/** Asks the one who is signed in whether somebody is there, or for the password. Stands above every other dialog. */
export function SessionQuestion() {
  const asked = question.value
  const dialog = useRef<HTMLDialogElement>(null)
  useModal(dialog, asked)
  if (asked === undefined) return null
  return (
    <dialog
      key={asked}
      ref={dialog}
      aria-labelledby="question-title"
      onClose={() => question.value === asked && endQuestion()}
    >
      <h2 id="question-title">{t(`session.${asked}.title`)}</h2>
      <p>{t(`session.${asked}`)}</p>
      {asked === 'idle' ? <button class="primary">{t('session.stay')}</button> : <Password />}
    </dialog>
  )
}

function Password() {
  const { submit, busy, problem } = useSignIn(me.value?.Email, me.value?.Region)
  return (
    <form class="action" onSubmit={submit}>
      <input type="email" autocomplete="username" value={me.value?.Email} hidden />
      <label>
        {t('signIn.password')}
        <input name="password" type="password" autocomplete="current-password" required />
      </label>
      {problem}
      <p class="line buttons">
        <button class="primary" disabled={busy}>
          {t('session.confirm')}
        </button>
        <button type="button" disabled={busy} onClick={() => endQuestion()}>
          {t('action.cancel')}
        </button>
      </p>
    </form>
  )
}
