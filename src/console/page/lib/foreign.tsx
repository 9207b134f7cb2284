import { h } from 'preact'
import { t } from './texts.ts'

export const STATUSES = [0, 1, 2, 3]

/** A Status by its number and in words. */
export const statusBadge = (status) => (
  <span class={`badge status-${status}`}>
    {status} · {t(`status.${status}`)}
  </span>
)

/** Characters that show nothing, change the direction of others or cannot be told from a space. */
const HIDDEN = /([\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Cn}\p{Default_Ignorable_Code_Point}]|(?! )\p{Zs})/u
const NAMES = { '\t': '⇥', '\r': '␍', '\n': '␊' }

const nameOf = (character) =>
  NAMES[character] ?? `U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}`

/** Text in which nothing is invisible: text nodes, and a mark for each hidden character. */
export const visible = (text) =>
  text.split(HIDDEN).map((part, index) => (index % 2 === 0 ? part : h('span', { class: 'mark' }, nameOf(part))))

/** A text that comes from others, in one line of a table or between other words. */
export const foreign = (text) => <span class="foreign">{visible(text)}</span>
