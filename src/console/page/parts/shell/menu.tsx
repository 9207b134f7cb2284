import { displayName } from '../../lib/customers.tsx'
import { foreign } from '../../lib/foreign.tsx'
import { language, theme, zone } from '../../lib/preferences.ts'
import { mayRead, mayWrite, me, seesPayloads, signOut } from '../../lib/session.ts'
import { t } from '../../lib/texts.ts'

function leave({ currentTarget, relatedTarget }) {
  if (!currentTarget.contains(relatedTarget)) currentTarget.open = false
}

function onKey({ key, currentTarget }) {
  if (key !== 'Escape' || !currentTarget.open) return
  currentTarget.open = false
  currentTarget.querySelector('summary').focus()
}

function role() {
  if (mayRead.value) return mayWrite.value ? 'operator' : 'readOnly'
  return seesPayloads.value ? 'supportWithPayloads' : 'support'
}

/** Who is signed in, the preferences, and the way out. */
export function Menu() {
  return (
    <details class="menu" onFocusOut={leave} onKeyDown={onKey}>
      <summary>{foreign(displayName(me.value))}</summary>
      <div class="sheet" tabindex="-1">
        <p>{t(`role.${role()}`)}</p>
        <Preferences />
        <button onClick={signOut}>{t('menu.signOut')}</button>
      </div>
    </details>
  )
}

/** The names of languages stand in their own language. */
const CHOICES = [
  { name: 'language', chosen: language, values: ['en', 'tr'] },
  { name: 'theme', chosen: theme, values: ['system', 'light', 'dark'] },
  { name: 'zone', chosen: zone, values: ['local', 'utc'] },
]

export const Preferences = () => (
  <div class="preferences">
    {CHOICES.map(({ name, chosen, values }) => (
      <label>
        {t(`menu.${name}`)}
        <select
          value={chosen.value}
          onChange={(event) => {
            chosen.value = event.currentTarget.value
          }}
        >
          {values.map((value) => (
            <option value={value}>{t(`menu.${name}.${value}`)}</option>
          ))}
        </select>
      </label>
    ))}
  </div>
)
