import { stripVTControlCharacters } from 'node:util'
import fc from 'fast-check'
import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import { prettyLines } from '#src/lib/log/pretty-log.ts'
import { anyText } from '../support/any-text.ts'

const plain = prettyLines(false)
const coloured = prettyLines(true)
const ONE_LINE = /^\P{C}+\n$/u
const LINES = /^(?:\P{C}+\n)+$/u
const TIME = '2026-11-21T12:00:00.250Z'
const clock = new Date(TIME).toTimeString().slice(0, 8)

const requestLine = (more = {}): string =>
  JSON.stringify({
    level: 30,
    time: TIME,
    requestId: '01a20271-608e-7ae3-8867-f2090de29b36',
    method: 'POST',
    route: '/Purchase/update',
    status: 200,
    durationMs: 3.25,
    customerId: 'c',
    errorCode: null,
    address: '127.0.0.1',
    msg: 'request',
    ...more,
  })

/** What pino logs, made readable. */
function logged(log: (logger: pino.Logger) => void): string {
  let text = ''
  const timestamp = () => `,"time":"${TIME}"`
  const write = (line: string): void => {
    text += plain(line)
  }
  log(pino({ level: 'trace', base: null, timestamp }, { write }))
  return text
}

describe('a readable log line', () => {
  it.each([
    [{}, 'POST /Purchase/update 200 3.25 ms 0de29b36'],
    [{ status: 400, errorCode: 'X' }, 'POST /Purchase/update 400 X 3.25 ms 0de29b36'],
    [{ status: 400, errorCode: 'X', reason: 'why' }, 'POST /Purchase/update 400 X (why) 3.25 ms 0de29b36'],
    [{ status: 404, route: null, errorCode: 'X' }, 'POST (no route) 404 X 3.25 ms 0de29b36'],
    [{ aborted: true, requestId: 'mine' }, 'POST /Purchase/update 200 aborted 3.25 ms mine'],
  ])('of a request with %j is %s', (more, expected) => {
    expect(plain(requestLine(more))).toBe(`${clock} info  ${expected}\n`)
  })

  it('of anything else has the message and its fields', () => {
    const lines = logged((logger) => {
      logger.warn({ errorCode: 'X', some: { a: 1 }, text: 'two words' }, 'overloaded')
      logger.trace('a detail')
    })
    expect(lines).toBe(`${clock} warn  overloaded errorCode=X some={"a":1} text="two words"\n${clock} trace a detail\n`)
  })

  it('of an error has the stack below it', () => {
    const lines = logged((logger) => logger.error({ requestId: 'r', err: new Error('broken') }, 'request failed'))
    expect(lines).toMatch(/^\S+ error request failed requestId=r\n {2}Error: broken\n {2} {4}at .+\n/)
  })

  it.each([
    [200, '32'],
    [404, '33'],
    [503, '31'],
  ])('has colours that say how a request went: %i', (status, code) => {
    expect(coloured(requestLine({ status }))).toContain(`\x1b[${code}m${status}\x1b[39m`)
    expect(stripVTControlCharacters(coloured(requestLine({ status })))).toBe(plain(requestLine({ status })))
  })

  it('holds no control character that came from outside, and is one line', () => {
    fc.assert(
      fc.property(anyText(), (text) => {
        const hostile = `${text}\x1b[2J\r\n\u202e\x07`
        const request = requestLine({ requestId: hostile, reason: hostile, errorCode: 'X', route: '/x' })
        const message = JSON.stringify({ level: 30, time: TIME, msg: hostile, field: hostile, other: { hostile } })
        for (const line of [plain(request), plain(message)]) expect(line).toMatch(ONE_LINE)
      }),
    )
    const err = { stack: 'Error: \x1b[2J\n    at \x1b]0;title\x07' }
    expect(plain(JSON.stringify({ level: 50, time: TIME, msg: 'x', err }))).toMatch(LINES)
  })
})
