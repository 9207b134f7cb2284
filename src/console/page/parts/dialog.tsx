import { effect, signal } from '@preact/signals'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { viewPath } from '../lib/route.ts'
import { me } from '../lib/session.ts'

const open = signal(undefined)
let count = 0

/** Shows a component in a modal dialog. It gets `close`. `dialog-title` is the id of its heading. */
export function showDialog(component, properties = {}) {
  count += 1
  open.value = { component, properties, number: count, view: viewPath.value }
}

export const closeDialog = () => {
  open.value = undefined
}

// What a dialog shows, such as a key, must not come back when somebody else signs in.
effect(() => {
  if (me.value === undefined) closeDialog()
})

export function Dialogs() {
  const dialog = useRef()
  const shown = open.value
  const view = viewPath.value
  // Leaving the view closes a dialog like Escape: one that shows a key that was not copied asks first.
  useEffect(() => {
    if (shown === undefined || shown.view === view) return
    if (dialog.current.dispatchEvent(new Event('cancel', { cancelable: true }))) closeDialog()
  }, [view])
  // Before the browser takes the next key: Enter would press the button behind the dialog.
  useLayoutEffect(() => {
    if (shown === undefined) return undefined
    const opener = document.activeElement
    dialog.current.showModal()
    return () =>
      (opener?.isConnected && opener !== document.body ? opener : document.getElementById('content'))?.focus()
  }, [shown])
  if (shown === undefined) return null
  return (
    <dialog
      key={shown.number}
      ref={dialog}
      aria-labelledby="dialog-title"
      onClose={() => open.value === shown && closeDialog()}
    >
      <shown.component {...shown.properties} close={closeDialog} />
    </dialog>
  )
}
