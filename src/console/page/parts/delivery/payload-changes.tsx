import { useMemo } from 'preact/hooks'
import { getBytes, useLoad } from '../../lib/api.ts'
import { visible } from '../../lib/foreign.tsx'
import { preciseTime, whole } from '../../lib/format.ts'
import { diffLines, withContext } from '../../lib/payload/diff.ts'
import { tokenize } from '../../lib/payload/json-tokens.ts'
import { formattedLines, formattedTexts } from '../../lib/payload/payload-lines.ts'
import { t } from '../../lib/texts.ts'
import { Problem } from '../problem.tsx'

const MAX_SHOWN_CHARACTERS = 200_000

export const textOf = (bytes) => new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)

function linesOf(text) {
  const tokens = tokenize(text)
  return formattedTexts(text, tokens, formattedLines(text, tokens))
}

/** What changed since the delivery before. */
export function PayloadChanges({ text, before }) {
  if (before === undefined) return <p class="note">{t('detail.loading')}</p>
  if (before === null) return <p>{t('changes.first')}</p>
  if (before.Erased) return <p>{t('changes.erased')}</p>
  return <Changes text={text} before={before} />
}

function Changes({ text, before }) {
  const path = `/Purchase/delivery/${before.ReceiptID}/payload`
  const { data, error, reload } = useLoad((signal) => getBytes(path, { signal }), [path])
  const lines = useMemo(() => data && compare(textOf(data.bytes), text), [data, text])
  if (error) return <Problem error={error} again={reload} />
  if (data === undefined) return <p class="note">{t('detail.loading')}</p>
  if (lines === undefined) return <p>{t('changes.large')}</p>
  if (lines.every(({ sign }) => sign === '…')) return <p>{t('changes.none')}</p>
  return (
    <>
      <p class="note">{t('changes.since', { time: preciseTime(before.ReceivedAt) })}</p>
      <div class="changes" tabindex="0" role="region" aria-label={t('changes.title')}>
        {lines.map((line, index) => (
          <Line key={index} {...line} />
        ))}
      </div>
    </>
  )
}

function compare(before, after) {
  const lines = diffLines(linesOf(before), linesOf(after))
  const shown = lines && withContext(lines)
  const characters = shown?.reduce((sum, { text = '' }) => sum + text.length + 1, 0)
  return characters <= MAX_SHOWN_CHARACTERS ? shown : undefined
}

const TAGS = { '+': 'ins', '-': 'del', ' ': 'div' }

function Line({ sign, text, count }) {
  if (sign === '…') return <div class="skipped note">{t('changes.same', { number: count, count: whole(count) })}</div>
  const Tag = TAGS[sign]
  return <Tag data-sign={sign}>{visible(text)}</Tag>
}
