import { effect } from '@preact/signals'
import { render } from 'preact'
import { language } from './lib/preferences.ts'
import { isHeld, isSignedIn, isStarting, me, start } from './lib/session.ts'
import { loadTexts } from './lib/texts.ts'
import { SessionQuestion } from './parts/shell/session-question.tsx'
import { Shell } from './parts/shell/shell.tsx'
import { SignIn } from './parts/shell/sign-in.tsx'

const root = document.getElementById('app') as HTMLElement

const App = () => (
  <>
    {!isStarting.value && !isSignedIn.value && <SignIn />}
    {me.value !== undefined && <Shell />}
    <SessionQuestion />
  </>
)

await Promise.all([loadTexts(), start()])
effect(() => {
  // Without an answer, the texts stay as they are.
  if (language.value) loadTexts().catch(() => undefined)
})
// What somebody has typed, and a key that is shown once, are there again after signing in.
effect(() => {
  root.toggleAttribute('data-held', isHeld.value)
})
render(<App />, root)
