import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { placeOf } from '#src/store/copy/copy-source.ts'

describe('where a store was moved', () => {
  const safe = fc.stringMatching(/^[a-z][a-z0-9.-]{0,9}$/)

  it('is told by hosts and name alone: never by a user, a password or a parameter', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.string({ minLength: 1 }), safe, safe, (user, secret, host, name) => {
        const hidden = encodeURIComponent(`§${secret}`)
        const url = `postgres://${encodeURIComponent(user)}:${hidden}@${host}:5432,two/${name}?password=${hidden}&sslmode=require`
        expect(placeOf(url)).toBe(`${host}:5432,two/${name}`)
      }),
    )
  })

  it.each([
    ['postgres://u:p@ss@db/name', 'db/name'],
    ['postgres://u:p/w@db/name', 'db/name'],
    ['postgresql://db', 'db'],
    ['postgres:///name?host=/run/postgresql&password=p', '/run/postgresql/name'],
    ['postgres:///name', 'localhost/name'],
    ['postgres://[::1]:5432/name?application_name=a@b', '[::1]:5432/name'],
  ])('%s is %s', (url, place) => expect(placeOf(url)).toBe(place))
})
