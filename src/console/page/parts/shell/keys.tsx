import { useEffect } from 'preact/hooks'
import { go } from '../../lib/route.ts'
import { mayRead } from '../../lib/session.ts'
import { t } from '../../lib/texts.ts'
import { VIEWS, type ViewName } from '../../views/views.ts'
import { showDialog } from '../dialog.tsx'
import { Facts } from '../words.tsx'

/** `g`, then one of these, opens a view. */
const VIEW_KEYS: Readonly<Record<string, ViewName>> = {
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

const isTyping = ({ target, ctrlKey, metaKey, altKey }: KeyboardEvent): boolean =>
  ctrlKey ||
  metaKey ||
  altKey ||
  (target instanceof Element && target.matches('input, textarea, select, [contenteditable]'))

let afterG = false

function onKey(event: KeyboardEvent) {
  if (isTyping(event) || document.querySelector('dialog[open], .sign-in')) return
  const view = afterG ? viewKeys()[event.key] : undefined
  afterG = event.key === 'g'
  if (event.key === '/') {
    event.preventDefault()
    document.getElementById('search')?.focus()
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

const Key = ({ children }: { readonly children: string }) => <kbd>{children}</kbd>

const KeyList = ({ close }: { readonly close: () => void }) => (
  <>
    <h2 id="dialog-title">{t('keys.title')}</h2>
    <Facts
      facts={[
        [t('word.search'), <Key>/</Key>],
        [t('keys.help'), <Key>?</Key>],
        [t('keys.choose'), [<Key>↑</Key>, ' ', <Key>↓</Key>]],
        [t('keys.open'), <Key>Enter</Key>],
        [t('word.close'), <Key>Esc</Key>],
        ...Object.entries(viewKeys()).map(
          ([key, view]) => [t(`word.${view}`), [<Key>g</Key>, ' ', <Key>{key}</Key>]] as const,
        ),
      ]}
    />
    <button onClick={close}>{t('word.close')}</button>
  </>
)
