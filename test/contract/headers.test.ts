import { expect, it } from 'vitest'
import { published } from '../support/contract.ts'
import { testApp } from '../support/test-app.ts'

it('every address of the contract answers other methods with 405 and those it has in Allow, and OPTIONS with 204 and the same', async () => {
  const { app } = await testApp()
  const schema = (published.components.headers?.Allow as { schema: { pattern: string } }).schema
  for (const [path, operations] of Object.entries(published.paths)) {
    const url = path.replaceAll(/\{\w+\}/g, 'x')
    const named = Object.keys(operations).map((method) => method.toUpperCase())
    const methods = named.includes('GET') ? [...named, 'HEAD'] : named
    const [other, options] = await Promise.all(
      (['PATCH', 'OPTIONS'] as const).map((method) => app.inject({ method, url })),
    )
    expect([path, other?.statusCode, other?.headers.allow]).toEqual([path, 405, methods.toSorted().join(', ')])
    expect([path, options?.statusCode, options?.headers.allow]).toEqual([
      path,
      204,
      [...methods, 'OPTIONS'].toSorted().join(', '),
    ])
    for (const answer of [other, options]) expect(answer?.headers.allow).toMatch(new RegExp(schema.pattern))
    for (const { responses } of Object.values(operations)) expect(responses[405]?.headers).toHaveProperty('allow')
  }
})
