import { effect } from '@preact/signals'
import { render } from 'preact'
import { html } from './lib/html.js'
import { language } from './lib/preferences.js'
import { loadTexts } from './lib/texts.js'
import { Shell } from './parts/shell.js'

await loadTexts()
effect(() => {
  if (language.value) void loadTexts()
})
render(html`<${Shell} />`, document.getElementById('app'))
