import { signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { html } from '../lib/html.js'

const open = signal(undefined)

/** Shows a component in a modal dialog. It gets `close`. `labelledby` names its heading. */
export function showDialog(component, properties = {}) {
  open.value = { component, properties }
}

export const closeDialog = () => {
  open.value = undefined
}

export function Dialogs() {
  const dialog = useRef()
  const shown = open.value
  useEffect(() => {
    if (shown === undefined) return undefined
    const opener = document.activeElement
    dialog.current.showModal()
    return () => opener?.isConnected && opener.focus()
  }, [shown])
  if (shown === undefined) return null
  return html`
    <dialog ref=${dialog} aria-labelledby="dialog-title" onClose=${closeDialog}>
      <${shown.component} ...${shown.properties} close=${closeDialog} />
    </dialog>
  `
}
