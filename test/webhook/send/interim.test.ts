import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createInterim } from '#src/webhook/send/interim.ts'

const INTERIM = [
  'HTTP/1.1 100 Continue\r\n\r\n',
  'HTTP/1.1 102 X\r\na: b\r\n\r\n',
  'HTTP/1.1 103 \r\nLink: </a>\r\n\r\n',
]
const ANSWERS = [
  'HTTP/1.1 200 OK\r\nContent-Length: 27\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n',
  'HTTP/1.1 101 Switching Protocols\r\n\r\n',
  'HTTP/1.0 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n',
  'HTTP/1.1 1',
  'HTTP/1.1 1x0 ',
  'HTT',
  'SSH-2.0-x\r\n',
  '',
]

it('removes interim answers before an answer and nothing else, however the bytes are cut', () => {
  const cuts = fc.array(fc.nat(200), { maxLength: 12 }).map((all) => all.toSorted((one, other) => one - other))
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...INTERIM)), fc.constantFrom(...ANSWERS), cuts, (before, answer, places) => {
      const interim = createInterim()
      const pass = (text: string): string => interim.pass(Buffer.from(text)).toString()
      for (let request = 0; request < 2; request++) {
        interim.begin()
        expect(interim.isHeard()).toBe(false)
        const sent = [...before, answer].join('')
        const ends = [...places, sent.length]
        const passed = ends.map((end, index) => pass(sent.slice(index === 0 ? 0 : ends[index - 1], end))).join('')
        // What may still become an interim answer is held back.
        expect('HTTP/1.1 1'.startsWith(answer) ? '' : answer).toBe(passed)
        expect(interim.isHeard()).toBe(true)
      }
    }),
  )
})
