import type { Signal } from '@preact/signals'
import type { ComponentChildren, TargetedFocusEvent, TargetedKeyboardEvent } from 'preact'
import { displayName } from '../../lib/customers.tsx'
import { foreign } from '../../lib/foreign.tsx'
import { language, theme, zone } from '../../lib/preferences.ts'
import { signOut } from '../../lib/session/sign-in.ts'
import { mayRead, mayWrite, me, seesPayloads } from '../../lib/session.ts'
import { named, t } from '../../lib/texts.ts'

type Details = HTMLDetailsElement

function leave({ currentTarget, relatedTarget }: TargetedFocusEvent<Details>) {
  if (!(relatedTarget instanceof Node && currentTarget.contains(relatedTarget))) currentTarget.open = false
}

function onKey({ key, currentTarget }: TargetedKeyboardEvent<Details>) {
  if (key !== 'Escape' || !currentTarget.open) return
  currentTarget.open = false
  currentTarget.querySelector('summary')?.focus()
}

function role() {
  if (mayRead.value) return mayWrite.value ? 'operator' : 'readOnly'
  return seesPayloads.value ? 'supportWithPayloads' : 'support'
}

/** Who is signed in, the preferences, and the way out. */
export const Menu = () => (
  <Dropdown look="menu" label={me.value && foreign(displayName(me.value))}>
    <p>{t(`role.${role()}`)}</p>
    <Preferences />
    <button onClick={signOut}>{t('menu.signOut')}</button>
  </Dropdown>
)

interface DropdownProperties {
  readonly look: 'menu' | 'export'
  readonly label: ComponentChildren
  readonly children: ComponentChildren
}

/** Opens below its label, and closes when the focus leaves it. */
export function Dropdown({ look, label, children }: DropdownProperties) {
  return (
    <details class={look} onFocusOut={leave} onKeyDown={onKey}>
      <summary>{label}</summary>
      <div class={look === 'menu' ? 'sheet' : 'sheet options'} tabIndex={-1}>
        {children}
      </div>
    </details>
  )
}

/** The names of languages stand in their own language. */
export const Preferences = () => (
  <div class="preferences">
    <Choice name="language" chosen={language} values={['en', 'tr']} />
    <Choice name="theme" chosen={theme} values={['system', 'light', 'dark']} />
    <Choice name="zone" chosen={zone} values={['local', 'utc']} />
  </div>
)

interface ChoiceProperties<Value> {
  readonly name: 'language' | 'theme' | 'zone'
  readonly chosen: Signal<Value>
  readonly values: readonly Value[]
}

const Choice = <Value extends string>({ name, chosen, values }: ChoiceProperties<Value>) => (
  <label>
    {t(`menu.${name}`)}
    <select
      value={chosen.value}
      onChange={({ currentTarget }) => {
        chosen.value = values.find((value) => value === currentTarget.value) ?? chosen.value
      }}
    >
      {values.map((value) => (
        <option key={value} value={value}>
          {named(`menu.${name}`, value)}
        </option>
      ))}
    </select>
  </label>
)
