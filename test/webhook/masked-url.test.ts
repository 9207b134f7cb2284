import fc from 'fast-check'
import { expect, it } from 'vitest'
import { maskedParts, maskedUrl } from '#src/webhook/masked-url.ts'

it.each([
  ['https://hooks.example.com/services/T000/B000/SLACKTOKEN', 'https://hooks.example.com/services/***'],
  ['https://hooks.example.com/services%2FT000%2fTOKEN', 'https://hooks.example.com/services/***'],
  ['https://hooks.example.com:8443/a/b?c=d', 'https://hooks.example.com:8443/a/***?***'],
  ['https://hooks.example.com//T000', 'https://hooks.example.com//***'],
  ['https://hooks.example.com/', 'https://hooks.example.com/'],
  ['https://hooks.example.com/orders', 'https://hooks.example.com/orders'],
  ['https://hooks.example.com/orders/', 'https://hooks.example.com/orders/'],
  ['https://hooks.example.com/?token', 'https://hooks.example.com/?***'],
])('%s is shown as %s', (url, shown) => expect(maskedUrl(url)).toBe(shown))

it('whatever a URL has after the first segment of its path is not shown, and is known as what answers must not show', () => {
  const segment = fc
    .stringMatching(/^[A-Za-z0-9._~%-]{12,30}$/)
    .filter((text) => URL.canParse(`https://h.example/${text}`))
  fc.assert(
    fc.property(fc.array(segment, { minLength: 1, maxLength: 5 }), segment, (segments, value) => {
      const url = new URL(`https://h.example/first/${segments.map(encodeURIComponent).join('/')}`)
      url.searchParams.set('key', value)
      expect(maskedUrl(url.href)).toBe('https://h.example/first/***?***')
      expect(maskedParts(url)).toEqual(expect.arrayContaining([...url.pathname.split('/').slice(2), value]))
    }),
  )
})
