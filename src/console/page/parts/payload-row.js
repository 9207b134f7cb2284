import { h } from 'preact'
import { html } from '../lib/html.js'
import { firstAbove } from '../lib/json-tokens.js'
import { t } from '../lib/texts.js'
import { visible } from './foreign.js'

/** One row of a payload. Line numbers and buttons are not part of what is copied. */
export const PayloadRow = ({ row: { number, line, indent, parts }, text, matches, chosen, toggle, folded }) => html`
  <div class="payload-row">
    <span class="line" data-number=${number}></span>
    ${
      toggle
        ? html`<button class="fold" aria-expanded=${String(!folded)} aria-label=${t('payload.line', { count: number })} onClick=${() => toggle(line)}></button>`
        : html`<span class="fold"></span>`
    }
    <span class="words">${' '.repeat(indent)}${parts.map((part) => partOf(part, text, matches, chosen))}${folded && h('span', { class: 'other' }, '…')}</span>
  </div>
`

function partOf({ start, end, kind }, text, matches, chosen) {
  if (kind === 'gap') return ' '
  if (matches.length === 0) return h('span', { class: kind }, visible(text.slice(start, end)))
  const found = []
  const ends = matches.map((match) => match.end)
  let at = start
  for (let i = firstAbove(ends, start); i < matches.length && matches[i].start < end; i++) {
    const [from, to] = [Math.max(start, matches[i].start), Math.min(end, matches[i].end)]
    found.push(visible(text.slice(at, from)))
    found.push(h('mark', { class: matches[i] === chosen ? 'chosen' : undefined }, visible(text.slice(from, to))))
    at = to
  }
  found.push(visible(text.slice(at, end)))
  return h('span', { class: kind }, found)
}
