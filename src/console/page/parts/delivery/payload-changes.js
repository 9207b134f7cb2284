import { useMemo } from 'preact/hooks'
import { getBytes, useLoad } from '../../lib/api.js'
import { diffLines, withContext } from '../../lib/diff.js'
import { visible } from '../../lib/foreign.js'
import { preciseTime, whole } from '../../lib/format.js'
import { html } from '../../lib/html.js'
import { tokenize } from '../../lib/json-tokens.js'
import { formattedLines, formattedTexts } from '../../lib/payload-lines.js'
import { t } from '../../lib/texts.js'
import { Problem } from '../problem.js'

const MAX_SHOWN_CHARACTERS = 200_000

export const textOf = (bytes) => new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)

function linesOf(text) {
  const tokens = tokenize(text)
  return formattedTexts(text, tokens, formattedLines(text, tokens))
}

/** What changed since the delivery before. */
export function PayloadChanges({ text, before }) {
  if (before === undefined) return html`<p class="note">${t('detail.loading')}</p>`
  if (before === null) return html`<p>${t('changes.first')}</p>`
  if (before.Erased) return html`<p>${t('changes.erased')}</p>`
  return html`<${Changes} text=${text} before=${before} />`
}

function Changes({ text, before }) {
  const path = `/Purchase/delivery/${before.ReceiptID}/payload`
  const { data, error, reload } = useLoad((signal) => getBytes(path, { signal }), [path])
  const lines = useMemo(() => data && compare(textOf(data), text), [data, text])
  if (error) return html`<${Problem} error=${error} again=${reload} />`
  if (data === undefined) return html`<p class="note">${t('detail.loading')}</p>`
  if (lines === undefined) return html`<p>${t('changes.large')}</p>`
  if (lines.every(({ sign }) => sign === '…')) return html`<p>${t('changes.none')}</p>`
  return html`
    <p class="note">${t('changes.since', { time: preciseTime(before.ReceivedAt) })}</p>
    <div class="changes" tabindex="0" role="region" aria-label=${t('changes.title')}>
      ${lines.map((line, index) => html`<${Line} key=${index} ...${line} />`)}
    </div>
  `
}

function compare(before, after) {
  const lines = diffLines(linesOf(before), linesOf(after))
  const shown = lines && withContext(lines)
  const characters = shown?.reduce((sum, { text = '' }) => sum + text.length + 1, 0)
  return characters <= MAX_SHOWN_CHARACTERS ? shown : undefined
}

const TAGS = { '+': 'ins', '-': 'del', ' ': 'div' }

function Line({ sign, text, count }) {
  if (sign === '…')
    return html`<div class="skipped note">${t('changes.same', { number: count, count: whole(count) })}</div>`
  return html`<${TAGS[sign]} data-sign=${sign}>${visible(text)}</${TAGS[sign]}>`
}
