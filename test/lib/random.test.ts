import fc from 'fast-check'
import { expect, it } from 'vitest'
import { newId, randomText, readUuid, systemRandom, timeOfId } from '#src/lib/random.ts'
import { isStorable } from '#src/lib/text.ts'

it('makes version 7 UUIDs that sort by the time they were made', () => {
  const time = fc.integer({ min: 0, max: 2 ** 48 - 1 })
  fc.assert(
    fc.property(time, time, (first, second) => {
      const [one, two] = [newId(first, systemRandom), newId(second, systemRandom)]
      expect(one).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
      if (first !== second) expect(one < two).toBe(first < second)
    }),
  )
})

it('reads ids in any letter case as they are stored, and when they were made', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2 ** 48 - 1 }), (time) => {
      const id = newId(time, systemRandom)
      expect([readUuid(id.toUpperCase()), timeOfId(id), timeOfId(id.toUpperCase())]).toEqual([id, time, time])
    }),
  )
  const version4 = '936da01f-9abd-4d9d-80c7-02af85c822a8'
  expect([readUuid(version4), timeOfId(version4)]).toEqual([version4, undefined])
  const id = newId(0, systemRandom)
  const otherVariant = `${id.slice(0, 19)}c${id.slice(20)}`
  expect([readUuid(otherVariant), timeOfId(otherVariant)]).toEqual([otherVariant, undefined])
  for (const text of ['', `${id}0`, ` ${id}`, id.slice(1), id.replaceAll('-', ''), `${id.slice(0, -1)}g`, `${id}\n`])
    expect([text, readUuid(text), timeOfId(text)]).toEqual([text, undefined, undefined])
})

it.each([
  ['', true],
  ['\u{1f600} \ufffd', true],
  ['a\0', false],
  ['\ud800', false],
  ['a\udc00b', false],
])('says of %j whether a database can hold it', (text, expected) => {
  expect(isStorable(text)).toBe(expected)
})

it('makes random text of letters and digits, each as likely as the other', () => {
  const text = randomText(62_000, systemRandom)
  expect(text).toMatch(/^[0-9A-Za-z]{62000}$/)
  const counts = Map.groupBy(text, (letter) => letter)
  expect(counts.size).toBe(62)
  // 1000 expected each, standard deviation 31: eight of them off is a bias and not chance.
  for (const letters of counts.values()) expect(Math.abs(letters.length - 1000)).toBeLessThan(250)
})

it('no secret is made of bytes that lay in memory before it was asked for: only ids and nonces share a pool', () => {
  for (const length of [16, 24, 32]) expect(systemRandom(length).buffer.byteLength).toBe(length)
  for (const length of [4, 10, 12]) expect(systemRandom(length).buffer.byteLength).toBe(4096)
})
