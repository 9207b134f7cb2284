import type { ComponentChild, ComponentChildren } from 'preact'
import { named, type TextKey, t, type Values } from './texts.ts'

export const STATUSES = [0, 1, 2, 3] as const

export const statusText = (status: number): string => named('status', String(status))

/** A Status in words, with its number as a hint. */
export const statusBadge = (status: number) => (
  <span class={`badge status-${status}`} title={`Status ${status}`}>
    {statusText(status)}
  </span>
)

/** Characters that show nothing, change the direction of others or cannot be told from a space. */
const HIDDEN = /([\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Cn}\p{Default_Ignorable_Code_Point}]|(?! )\p{Zs})/u
const NAMES: Readonly<Record<string, string>> = { '\t': '⇥', '\r': '␍', '\n': '␊' }

const nameOf = (character: string): string =>
  NAMES[character] ?? `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`

/** Text in which nothing is invisible: text nodes, and a mark for each hidden character. */
export const visible = (text: string): ComponentChild[] =>
  text.split(HIDDEN).map((part, index) => (index % 2 === 0 ? part : <span class="mark">{nameOf(part)}</span>))

/** A text that comes from others, in one line of a table or between other words. */
export const foreign = (text: string) => <span class="foreign">{visible(text)}</span>

/** Stands in a text where something foreign comes, for withForeign. */
export const HOLE = '\0'

interface SentenceProperties {
  readonly text: TextKey
  /** Stands in the text as `{name}`. */
  readonly name?: string
  readonly values?: Values
  readonly look?: 'warning'
  readonly role?: 'status'
}

/** A sentence about a customer or an endpoint. */
export const Sentence = ({ text, name = '', values = {}, look, role }: SentenceProperties) => (
  <p class={look} {...(role && { role })}>
    {withForeign(t(text, { ...values, name: HOLE }), name)}
  </p>
)

/** Returns a text with something foreign in it, apart from its surroundings. */
export const withForeign = (text: string, foreign: string): ComponentChildren[] =>
  text.split(HOLE).flatMap((part, index) => (index === 0 ? [part] : [<b class="foreign">{foreign}</b>, part]))
