import { useMemo } from 'preact/hooks'
import { getBytes } from '../../lib/api.ts'
import { visible } from '../../lib/foreign.tsx'
import { preciseTime } from '../../lib/format.ts'
import { type Changed, diffLines, type LeftOut, withContext } from '../../lib/payload/diff.ts'
import { tokenize } from '../../lib/payload/json-tokens.ts'
import { formattedLines, formattedTexts } from '../../lib/payload/payload-lines.ts'
import { t } from '../../lib/texts.ts'
import { useQuery } from '../../lib/use-query.ts'
import { Loaded } from '../problem.tsx'

const MAX_SHOWN_CHARACTERS = 200_000

export interface Before {
  readonly ReceiptID: string
  readonly ReceivedAt: string
  readonly Erased?: boolean
}

export const textOf = (bytes: Uint8Array): string => new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)

function linesOf(text: string): string[] {
  const tokens = tokenize(text)
  return formattedTexts(text, tokens, formattedLines(text, tokens))
}

interface ChangesProperties {
  readonly text: string
  /** Undefined until it is known, null if there is none. */
  readonly before: Before | null | undefined
}

/** What changed since the delivery before. */
export function PayloadChanges({ text, before }: ChangesProperties) {
  if (before === undefined) return <p class="note">{t('detail.loading')}</p>
  if (before === null) return <p>{t('changes.first')}</p>
  if (before.Erased) return <p>{t('changes.erased')}</p>
  return <Changes text={text} before={before} />
}

function Changes({ text, before }: { readonly text: string; readonly before: Before }) {
  const path = `/Purchase/delivery/${before.ReceiptID}/payload`
  const read = useQuery((signal) => getBytes(path, signal), [path])
  const lines = useMemo(() => read.data && compare(textOf(read.data.bytes), text), [read.data, text])
  return (
    <Loaded read={read}>
      {() =>
        lines === undefined ? (
          <p>{t('changes.large')}</p>
        ) : lines.every(({ sign }) => sign === '…') ? (
          <p>{t('changes.none')}</p>
        ) : (
          <>
            <p class="note">{t('changes.since', { time: preciseTime(before.ReceivedAt) })}</p>
            <div class="changes" tabIndex={0} role="region" aria-label={t('changes.title')}>
              {lines.map((line, index) => (
                <Line key={index} {...line} />
              ))}
            </div>
          </>
        )
      }
    </Loaded>
  )
}

function compare(before: string, after: string) {
  const lines = diffLines(linesOf(before), linesOf(after))
  const shown = lines && withContext(lines)
  const characters = shown?.reduce((sum, line) => sum + ('text' in line ? line.text.length : 0) + 1, 0) ?? 0
  return characters <= MAX_SHOWN_CHARACTERS ? shown : undefined
}

const TAGS = { '+': 'ins', '-': 'del', ' ': 'div' } as const

function Line(line: Changed | LeftOut) {
  if (line.sign === '…') {
    const { count } = line
    return <div class="skipped note">{t('changes.same', { count })}</div>
  }
  const Tag = TAGS[line.sign]
  return <Tag data-sign={line.sign}>{visible(line.text)}</Tag>
}
