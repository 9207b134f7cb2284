import { html } from '../../lib/html.js'
import { state, wanted } from '../../lib/live.js'
import { t } from '../../lib/texts.js'

/** Says what really happens: live, paused, connecting or lost. */
export const LiveSwitch = () => html`
  <button
    class="live ${state.value}"
    aria-pressed=${String(wanted.value)}
    onClick=${() => {
      wanted.value = !wanted.value
    }}
  >
    ${t(`live.${state.value}`)}
  </button>
`
