import { effect, signal } from '@preact/signals'
import type { ComponentChildren, ComponentType, RefObject } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { viewPath } from '../lib/route.ts'
import { isHeld, me } from '../lib/session.ts'
import { type TextKey, t } from '../lib/texts.ts'

/** What the component in a dialog gets. */
export interface Closing {
  readonly close: () => void
}

interface Shown {
  readonly Content: ComponentType<Closing>
  readonly number: number
  /** The view that it was opened in. */
  readonly view: string
}

const open = signal<Shown | undefined>(undefined)
let count = 0

/** Shows a component in a modal dialog. `dialog-title` is the id of its heading. */
export function showDialog<Properties extends object>(
  Component: ComponentType<Properties & Closing>,
  properties = {} as Properties,
) {
  count += 1
  const Content = ({ close }: Closing) => <Component {...properties} close={close} />
  open.value = { Content, number: count, view: viewPath.value }
}

const closeDialog = () => {
  open.value = undefined
}

// What a dialog shows, such as a key, must not come back when somebody else signs in.
effect(() => {
  if (me.value === undefined) closeDialog()
})

/**
 * Opens a dialog above everything while `shown` is not undefined, before the browser takes the next key: Enter would press the button
 * behind it. Gives the focus back.
 */
export function useModal(dialog: RefObject<HTMLDialogElement | null>, shown: unknown) {
  useLayoutEffect(() => {
    if (shown === undefined) return undefined
    const [element, opener] = [dialog.current, document.activeElement]
    element?.showModal()
    return () => {
      element?.close()
      const isThere = opener instanceof HTMLElement && opener.isConnected && opener !== document.body
      const next = isThere ? opener : document.getElementById('content')
      next?.focus()
    }
  }, [shown])
}

export function Dialogs() {
  const dialog = useRef<HTMLDialogElement>(null)
  const shown = open.value
  const view = viewPath.value
  // Leaving the view closes a dialog like Escape: one that shows a key that was not copied asks first.
  useEffect(() => {
    if (shown === undefined || shown.view === view) return
    if (dialog.current?.dispatchEvent(new Event('cancel', { cancelable: true }))) closeDialog()
  }, [view])
  // A dialog that is held keeps what it shows, and blocks nothing.
  useModal(dialog, isHeld.value ? undefined : shown)
  if (shown === undefined) return null
  return (
    <dialog
      key={shown.number}
      ref={dialog}
      aria-labelledby="dialog-title"
      onClose={() => open.value === shown && !isHeld.value && closeDialog()}
    >
      <shown.Content close={closeDialog} />
    </dialog>
  )
}

interface NoticeProperties extends Closing {
  readonly title: TextKey
  readonly children: ComponentChildren
}

/** Says something in a dialog. There is nothing to do but to close it. */
export const Notice = ({ title, children, close }: NoticeProperties) => (
  <div class="action">
    <h2 id="dialog-title">{t(title)}</h2>
    {children}
    <p class="line buttons">
      <button class="primary" autofocus onClick={close}>
        {t('word.close')}
      </button>
    </p>
  </div>
)
