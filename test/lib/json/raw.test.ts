import fc from 'fast-check'
import { expect, it } from 'vitest'
import { rawJson, writeJson } from '#src/lib/json/raw.ts'
import { anyJson, anyJsonValue, anyText } from '../../support/any-text.ts'

it('writes what JSON.stringify writes', () => {
  fc.assert(
    fc.property(anyJsonValue(), (value) => {
      expect(writeJson(value).toString()).toBe(JSON.stringify(value))
    }),
  )
  const odd = { a: undefined, b: [undefined, null], 'ü"': '\ud800\u2028', __proto__x: -0, n: Number.NaN }
  expect(writeJson(odd).toString()).toBe(JSON.stringify(odd))
})

it('copies raw JSON byte for byte, at any place', () => {
  const text = anyJson().map((text) => ` ${text}\r\n`)
  fc.assert(
    fc.property(fc.array(text), anyText(), (texts, name) => {
      const items = texts.map((each) => ({ [`x${name}`]: 1, Payload: rawJson(Buffer.from(each)), after: [2] }))
      const expected = texts.map((each) => `{${JSON.stringify(`x${name}`)}:1,"Payload":${each},"after":[2]}`)
      expect(writeJson({ items }).equals(Buffer.from(`{"items":[${expected.join(',')}]}`))).toBe(true)
    }),
  )
  const lossy = '{"n":123456789012345678901,"d":1,"d":2,"e":"\\u0041","x":1e400}'
  expect(writeJson({ Payload: rawJson(Buffer.from(lossy)) }).toString()).toBe(`{"Payload":${lossy}}`)
  expect(writeJson(rawJson(Buffer.from('{}'))).toString()).toBe('{}')
})
