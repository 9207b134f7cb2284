import { expect, it } from 'vitest'
import { published } from '../support/contract.ts'
import { testApp } from '../support/test-app.ts'

const { app } = await testApp()
const origin = 'https://elsewhere.example'
const preflight = {
  origin,
  'access-control-request-method': 'POST',
  'access-control-request-headers': 'apikey, authorization',
}

it('no answer has a CORS header, whatever a browser asks', async () => {
  const addresses = [...Object.keys(published.paths).map((path) => path.replaceAll(/[{}]/g, '')), '/docs', '/nowhere']
  for (const url of addresses) {
    for (const method of ['GET', 'POST', 'OPTIONS'] as const) {
      const { headers } = await app.inject({ method, url, headers: method === 'OPTIONS' ? preflight : { origin } })
      expect(Object.keys(headers).filter((name) => name.startsWith('access-control-'))).toEqual([])
    }
  }
})
