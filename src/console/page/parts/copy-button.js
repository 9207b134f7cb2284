import { useEffect, useState } from 'preact/hooks'
import { html } from '../lib/html.js'
import { copy } from '../lib/save.js'
import { t } from '../lib/texts.js'

const SHOWN_MILLISECONDS = 2000

/** A button that copies a text and says whether it worked. */
export function CopyButton({ text, label }) {
  const [done, setDone] = useState()
  useEffect(() => {
    const timer = setTimeout(() => setDone(undefined), SHOWN_MILLISECONDS)
    return () => clearTimeout(timer)
  }, [done])
  const said = done === undefined ? undefined : done ? t('copy.done') : t('copy.failed')
  return html`
    <button onClick=${async () => setDone(await copy(text))}>${said ?? label}</button>
    <span class="visually-hidden" role="status">${said}</span>
  `
}
