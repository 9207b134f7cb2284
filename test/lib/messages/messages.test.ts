import { globSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { english } from '#src/lib/messages/en.ts'
import { bounded, few, isMessage, message, textOf } from '#src/lib/messages/message.ts'
import { turkish } from '#src/lib/messages/tr.ts'

/** The places of a text; the words behind a number differ from language to language. */
const placesOf = (text: string): string[] =>
  [...new Set(text.match(/\{[^}]*\}/g) ?? [])].sort().map((place) => place.replace(/:.*\|.*\}/, ':plural}'))

describe('the catalogue of messages', () => {
  it('has the same codes in the same order in both languages, and no text is empty', () => {
    expect(Object.keys(turkish)).toEqual(Object.keys(english))
    const empty = [...Object.values(english), ...Object.values(turkish)].filter((text) => text.trim() === '')
    expect(empty).toEqual([])
  })

  it('has the same places in both languages, in a form that is known', () => {
    for (const [code, text] of Object.entries(english)) {
      const translated = turkish[code as keyof typeof english]
      expect([code, placesOf(translated)]).toEqual([code, placesOf(text)])
      const forms = [...`${text}${translated}`.matchAll(/\{([^}]*)\}/g)].map(([, place = '']) => place)
      const isKnown = /^\w+(:time|:day|:size|:list;?|:[^|]+\|[^|]+)?$/
      expect([code, forms.filter((form) => !isKnown.test(form))]).toEqual([code, []])
    }
  })

  it('has no text that nothing says', () => {
    const sources = globSync('src/**/*.ts', { exclude: ['src/lib/messages/{en,tr}/*.ts'] })
    const said = sources.map((file) => readFileSync(file, 'utf8')).join('\n')
    expect(Object.keys(english).filter((code) => !said.includes(`'${code}'`))).toEqual([])
  })
})

describe('a message', () => {
  it('is kept if its text is short enough; else the beginning of the text', () => {
    const said = message('PRODUCTS_NOT_ALLOWED', { products: ['A', 'B'] })
    const text = 'This API key may not deliver: A, B.'
    expect(textOf(said)).toBe(text)
    expect(bounded(said, text.length)).toBe(said)
    expect(bounded(said, text.length - 1)).toBe(text.slice(0, -1))
    expect(bounded('a text', 3)).toBe('a t')
  })

  it('is told from other values', () => {
    expect(isMessage(JSON.parse(JSON.stringify(message('NO_PRODUCT'))))).toBe(true)
    expect(
      ['code', null, 7, {}, { code: 'X' }, { code: 1, values: {} }, { code: 'X', values: null }, [], undefined].filter(
        isMessage,
      ),
    ).toEqual([])
  })
})

describe('a message in English', () => {
  it('counts, shows times in UTC and sizes in MiB, and lists five', () => {
    expect(textOf(message('BACKUP_RECENT', { ago: 1, at: '2026-11-21T05:37:25.123Z' }))).toBe(
      'the last one was made 1 hour ago, at 2026-11-21 05:37:25 UTC',
    )
    expect(textOf(message('CERTIFICATE_EXPIRED', { on: '2026-11-21T05:37:25.123Z' }))).toMatch(/ on 2026-11-21$/)
    expect(textOf(message('LOG_SMALL', { size: 1_572_864, limit: 3 * 2 ** 30 }))).toBe(
      'the file that ends in -wal has 1.5 MiB, and may have 3,072 MiB on this disk',
    )
    const who = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
    expect(textOf(message('KEYS_ALL_EXPIRED', { who: few(who) }))).toMatch(
      /^all keys of a, b, c, d, e, and 2 more have/,
    )
  })

  it('has others in it', () => {
    const keys = ['a', 'b'].map((id) => message('KEY_ENDS', { id, customer: 'a@b.co', on: '2026-11-21T05:37:25.123Z' }))
    expect(textOf(message('KEYS_EXPIRED', { count: 2, keys }))).toBe(
      '2 expired and not replaced, issue others or revoke them: a of a@b.co on 2026-11-21; b of a@b.co on 2026-11-21',
    )
  })

  it('shows what stands in values as it is, and a message of a newer version by its code', () => {
    expect(textOf(message('STORE_FAILED', { reason: '{reason} $& {x:list}' }))).toBe('{reason} $& {x:list}')
    expect(textOf({ code: 'FROM_THE_FUTURE', values: { n: 1 } })).toBe('FROM_THE_FUTURE')
    // Names that every object has.
    for (const code of ['constructor', '{__proto__}', 'toString']) expect(textOf({ code, values: {} })).toBe(code)
    expect(textOf({ code: 'BACKUP_RECENT', values: {} })).toBe('the last one was made 0 hours ago, at  UTC')
  })
})
