import { state, wanted } from '../../lib/live.ts'
import { t } from '../../lib/texts.ts'

/** Says what really happens: live, paused, connecting or lost. */
export const LiveSwitch = () => (
  <button
    class={`live ${state.value}`}
    aria-pressed={wanted.value}
    onClick={() => {
      wanted.value = !wanted.value
    }}
  >
    {t(`word.${state.value}`)}
  </button>
)
