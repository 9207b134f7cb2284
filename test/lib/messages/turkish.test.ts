import { globSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { turkish } from '#src/lib/messages/tr.ts'

const root = new URL('../../../', import.meta.url)
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8')
const lower = (text: string): string => text.toLocaleLowerCase('tr')

const [, table = ''] =
  /^\| word \| Turkish \| never \|\n\|---\|---\|---\|\n((?:\|.*\n)+)/m.exec(read('CONTRIBUTING.md')) ?? []
const rows = Array.from(table.matchAll(/^\| [^|]+ \| ([^|]+) \|([^|]*)\|$/gm), ([, ours = '', never = '']) => ({
  ours: lower(ours).trim(),
  never: lower(never)
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== ''),
}))
const never = rows.flatMap((row) => row.never)
/** Such as "veri deposu", which has a word in it that never stands alone. */
const exceptions = rows.map(({ ours }) => ours).filter((ours) => never.some((word) => ours.includes(word)))

/** The words in a text that have another translation. Endings may follow each. */
function oldWordsIn(text: string): string[] {
  const rest = exceptions.reduce((left, ours) => left.replaceAll(ours, ''), lower(text))
  return never.filter((word) => new RegExp(`(?<!\\p{L})${word}`, 'u').test(rest))
}

const values = { ...JSON.parse(read('src/console/page/texts/tr.json')), ...turkish } as Record<string, string>

/** An ending follows the sound of its word, which is not known of a value. After a number a word has no plural. */
const WRONG_ENDING =
  /\}['’]?(?!d )\p{L}|\{(?:count|shown|seconds|minutes|days)\} \p{L}+l[ae]r(?!\p{L})|\{\w+:[^}]*\p{L}l[ae]r[|}]/u
const hasWrongEnding = (text: string): boolean => WRONG_ENDING.test(text)

describe('texts in Turkish', () => {
  it('have one word for one thing, as CONTRIBUTING.md lists them', () => {
    expect(exceptions).toEqual(['apı müşterisi', 'veri deposu'])
    expect(oldWordsIn('Teslimatı MÜŞTERİYE teslim edin: API müşterisinin Makbuzu, veri deposunda')).toEqual([
      'müşteri',
      'teslimat',
      'teslim ed',
      'makbuz',
    ])
    const texts = { ...values }
    for (const path of globSync('docs/tr/*.md', { cwd: root })) texts[path] = read(path)
    const old = Object.entries(texts).map(([name, text]) => [name, ...oldWordsIn(text)])
    expect(old.filter(([, ...words]) => words.length > 0)).toEqual([])
  })

  it('have no ending on a value, and no plural after a number', () => {
    const wrong = ["{order}'in geçmişi", '{order}da', '{count} bildirimler', '{count:bildirimler|bildirimler}']
    expect(wrong.filter((text) => !hasWrongEnding(text))).toEqual([])
    expect(Object.entries(values).filter(([, text]) => hasWrongEnding(text))).toEqual([])
  })
})
