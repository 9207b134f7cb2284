import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { prefersEvents } from '#src/http/answers/accept.ts'
import { anyText } from '../../support/any-text.ts'

describe('an Accept header', () => {
  it.each([
    undefined,
    '',
    '*/*',
    'text/*',
    'application/json',
    'text/event-stream;q=0',
    'text/event-stream; q=0.000, application/json',
    'text/event-stream;q=0.5, application/json',
    'text/event-stream;q=0.5, */*',
    'text/event-stream;q=0.5, application/*;q=0.6',
    'text/event-streams, x-text/event-stream',
    'application/json;note="a, text/event-stream"',
    'text/event-stream;note="q=1";q=0',
    'nonsense text/event-stream/x;;=,,',
  ])('%j asks for JSON', (accept) => {
    expect(prefersEvents(accept)).toBe(false)
  })

  it.each([
    'text/event-stream',
    'Text/Event-Stream',
    'text/event-stream; charset=utf-8',
    'text/event-stream, */*',
    'text/event-stream, application/json',
    'text/event-stream;q=0.1',
    'text/event-stream;Q=0.5, application/json;q=0.4',
    'text/event-stream;q=0.5, application/json;q=0.4, */*',
    'application/json ; q=0 , text/event-stream ; q=0.001',
    'text/html, application/json;q=0.9,\ttext/event-stream',
    'text/event-stream;q=x',
  ])('%j asks for events', (accept) => {
    expect(prefersEvents(accept)).toBe(true)
  })

  const RANGES = ['text/event-stream', 'text/*', 'application/json', 'application/*', '*/*', 'text/html'] as const
  const anyCase = (text: string) =>
    fc
      .infiniteStream(fc.boolean())
      .map((upper) => text.replaceAll(/./g, (c) => (upper.next().value ? c.toUpperCase() : c)))
  const weighted = fc.record({
    range: fc.constantFrom(...RANGES),
    thousandths: fc.option(fc.integer({ min: 0, max: 1000 }), { nil: undefined }),
    space: fc.constantFrom('', ' ', '\t'),
    parameter: fc.constantFrom('', ';charset=utf-8', ';a="x, text/event-stream;q=1"', ';a="\\", y"'),
  })
  const headers = fc.uniqueArray(weighted, { selector: ({ range }) => range, maxLength: RANGES.length })

  /** By the letter of RFC 9110: the most exact range gives the weight of a type. */
  const weightOf = (parts: readonly { range: string; thousandths: number | undefined }[], names: readonly string[]) => {
    const exact = names.map((name) => parts.find(({ range }) => range === name)).find((part) => part !== undefined)
    return exact === undefined ? 0 : (exact.thousandths ?? 1000)
  }

  it('gets events if it names them with at least the weight of JSON, in any spelling', () => {
    fc.assert(
      fc.property(
        headers.chain((parts) => fc.tuple(fc.constant(parts), fc.tuple(...parts.map(({ range }) => anyCase(range))))),
        ([parts, spelled]) => {
          const accept = parts
            .map(({ thousandths, space, parameter }, index) => {
              const weight = thousandths === undefined ? '' : `${space};${space}q=${(thousandths / 1000).toFixed(3)}`
              return `${space}${spelled[index]}${parameter}${weight}${space}`
            })
            .join(',')
          const events = weightOf(parts, ['text/event-stream'])
          const json = weightOf(parts, ['application/json', 'application/*', '*/*'])
          expect(prefersEvents(accept), accept).toBe(events > 0 && events >= json)
        },
      ),
      { numRuns: 2000 },
    )
  })

  it('is read in linear time, whatever it contains', () => {
    fc.assert(fc.property(anyText(), (accept) => typeof prefersEvents(accept) === 'boolean'))
    const hostile = ['"', 'a/b;"', 'text/event-stream;q=', ';', 'a/', '\\"', ' ']
    const start = performance.now()
    for (const part of hostile) prefersEvents(part.repeat(16_000 / part.length))
    expect(performance.now() - start).toBeLessThan(500)
  })
})
