import { useEffect } from 'preact/hooks'
import { go } from '../../lib/route.ts'
import { mayRead } from '../../lib/session.ts'
import { t } from '../../lib/texts.ts'
import { VIEWS } from '../../views/views.ts'
import { showDialog } from '../dialog.tsx'

/** `g`, then one of these, opens a view. */
const VIEW_KEYS = {
  n: 'now',
  d: 'deliveries',
  o: 'orders',
  c: 'customers',
  r: 'refusals',
  w: 'webhooks',
  a: 'audit',
  h: 'health',
}

const viewKeys = () =>
  Object.fromEntries(Object.entries(VIEW_KEYS).filter(([, view]) => !VIEWS[view].reads || mayRead.value))

const isTyping = ({ target, ctrlKey, metaKey, altKey }) =>
  ctrlKey || metaKey || altKey || target.matches?.('input, textarea, select, [contenteditable]')

let afterG = false

function onKey(event) {
  if (isTyping(event) || document.querySelector('dialog[open], .sign-in')) return
  const view = afterG ? viewKeys()[event.key] : undefined
  afterG = event.key === 'g'
  if (event.key === '/') {
    event.preventDefault()
    document.getElementById('search').focus()
  } else if (event.key === '?') showDialog(KeyList)
  else if (view !== undefined) go(view)
}

export function Keys() {
  useEffect(() => {
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [])
  return null
}

const KeyList = ({ close }) => (
  <>
    <h2 id="dialog-title">{t('keys.title')}</h2>
    <dl class="keys">
      <dt>
        <kbd>/</kbd>
      </dt>
      <dd>{t('word.search')}</dd>
      <dt>
        <kbd>?</kbd>
      </dt>
      <dd>{t('keys.help')}</dd>
      <dt>
        <kbd>↑</kbd> <kbd>↓</kbd>
      </dt>
      <dd>{t('keys.choose')}</dd>
      <dt>
        <kbd>Enter</kbd>
      </dt>
      <dd>{t('keys.open')}</dd>
      <dt>
        <kbd>Esc</kbd>
      </dt>
      <dd>{t('word.close')}</dd>
      {Object.entries(viewKeys()).map(([key, view]) => (
        <>
          <dt>
            <kbd>g</kbd> <kbd>{key}</kbd>
          </dt>
          <dd>{t(`word.${view}`)}</dd>
        </>
      ))}
    </dl>
    <button onClick={close}>{t('word.close')}</button>
  </>
)
