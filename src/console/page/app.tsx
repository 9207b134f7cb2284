import { effect } from '@preact/signals'
import { render } from 'preact'
import { language } from './lib/preferences.ts'
import { loadTexts } from './lib/texts.ts'
import { Shell } from './parts/shell/shell.tsx'

await loadTexts()
effect(() => {
  // Without an answer, the texts stay as they are.
  if (language.value) loadTexts().catch(() => undefined)
})
render(<Shell />, document.getElementById('app'))
