import { signal } from '@preact/signals'

/** Whether the page is being printed: then all that is loaded is shown. */
export const printing = signal(false)

const media = matchMedia('print')
media.addEventListener('change', () => {
  printing.value = media.matches
})
addEventListener('beforeprint', () => {
  printing.value = true
})
addEventListener('afterprint', () => {
  printing.value = media.matches
})
