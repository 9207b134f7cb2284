import { connect } from 'node:net'
import { expect, it } from 'vitest'
import { exchange } from '../support/app/raw-http.ts'
import { increase, scrape, testOps } from '../support/app/scrape.ts'
import { addSupplier } from '../support/app/supplier.ts'
import { LOGIN, testApp } from '../support/app/test-app.ts'

it.each(['/Purchase/update', LOGIN])(
  'a request to %s that was broken off in its body counts once, and as no refusal of it',
  async (path) => {
    const service = await testApp()
    const ops = testOps(service)
    const base = await service.app.listen({ port: 0, host: '127.0.0.1' })
    const { key } = await addSupplier(service, { authority: ['SKU-*'] })
    const head = `POST ${path} HTTP/1.1\r\nHost: a\r\nApiKey: ${key}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`
    const counted = (status: string) => ({
      [`teslim_http_requests_total{method="POST",route="${path}",status="${status}"}`]: 1,
      [`teslim_http_request_duration_seconds_count{route="${path}"}`]: 1,
    })
    const moves = async (work: () => Promise<unknown>, expected: Record<string, number>) => {
      const before = await scrape(ops)
      await work()
      await expect.poll(async () => increase(before, await scrape(ops))).toEqual(expected)
    }

    await moves(() => exchange(base, `${head}zz\r\n`), {
      ...counted('400'),
      'teslim_refusals_total{action="other",code="BAD_REQUEST",class="request"}': 1,
    })
    await moves(async () => {
      const socket = connect(Number(new URL(base).port), '127.0.0.1')
      socket.write(`${head}2\r\n{`)
      await expect.poll(async () => (await scrape(ops)).get('teslim_http_connections')).toBe(1)
      socket.resetAndDestroy()
    }, counted('aborted'))
  },
)
