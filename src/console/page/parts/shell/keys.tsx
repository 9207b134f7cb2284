import { useEffect } from 'preact/hooks'
import { go } from '../../lib/route.ts'
import { named, t } from '../../lib/texts.ts'
import { menuViews } from '../../views/views.ts'
import { type Closing, Notice, showDialog } from '../dialog.tsx'
import { Facts } from '../words.tsx'

const isTyping = ({ target, ctrlKey, metaKey, altKey }: KeyboardEvent): boolean =>
  ctrlKey ||
  metaKey ||
  altKey ||
  (target instanceof Element && target.matches('input, textarea, select, [contenteditable]'))

let afterG = false

function onKey(event: KeyboardEvent) {
  if (isTyping(event) || document.querySelector('dialog[open], .sign-in')) return
  const [view] = (afterG && menuViews().find(([, { key }]) => key === event.key)) || []
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

const KeyList = ({ close }: Closing) => (
  <Notice title="keys.title" close={close}>
    <Facts
      facts={[
        [t('word.search'), <Key>/</Key>],
        [t('keys.help'), <Key>?</Key>],
        [t('keys.choose'), [<Key>↑</Key>, ' ', <Key>↓</Key>]],
        [t('keys.open'), <Key>Enter</Key>],
        [t('word.close'), <Key>Esc</Key>],
        ...menuViews().map(
          ([name, { key = '' }]) => [named('word', name), [<Key>g</Key>, ' ', <Key>{key}</Key>]] as const,
        ),
      ]}
    />
  </Notice>
)
