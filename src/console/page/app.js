import { effect } from '@preact/signals'
import { render } from 'preact'
import { html } from './lib/html.js'
import { language } from './lib/preferences.js'
import { loadTexts } from './lib/texts.js'
import { Shell } from './parts/shell/shell.js'

await loadTexts()
effect(() => {
  // Without an answer, the texts stay as they are.
  if (language.value) loadTexts().catch(() => undefined)
})
render(html`<${Shell} />`, document.getElementById('app'))
