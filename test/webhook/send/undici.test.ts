import { Client as ofPackage } from 'undici'
import { expect, it } from 'vitest'

it('undici has the class of its clients in undici/lib/dispatcher/client.js, which is not a public path: a version that moves it needs another import in src/webhook/send', async () => {
  const { default: Client } = await import('undici/lib/dispatcher/client.js')
  expect(Client).toBe(ofPackage)
})
