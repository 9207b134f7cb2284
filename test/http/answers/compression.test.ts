import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { createCompression } from '#src/http/answers/accept.ts'

const content = Buffer.from('{"Status":1}'.repeat(1000))

describe('compression of one answer after the other', () => {
  it('compresses 32 at once, and leaves further ones as they are instead of letting them wait', async () => {
    const compress = createCompression(() => false)
    const running = Array.from({ length: 32 }, (_, index) => compress(content, index % 2 === 0 ? 'gzip' : 'br'))
    expect(compress(content, 'gzip')).toBeUndefined()
    for (const packed of await Promise.all(running)) expect(packed?.length).toBeLessThan(200)
    expect(gunzipSync((await compress(content, 'gzip')) ?? '').equals(content)).toBe(true)
  })

  it('leaves what would take too much memory as it is', async () => {
    const compress = createCompression(() => false)
    expect(compress(Buffer.alloc(10 * 1024 * 1024 + 1), 'gzip')).toBeUndefined()
    const half = compress(Buffer.alloc(5 * 1024 * 1024 + 1), 'gzip')
    expect(compress(Buffer.alloc(5 * 1024 * 1024), 'gzip')).toBeUndefined()
    await half
    await expect(compress(Buffer.alloc(5 * 1024 * 1024), 'gzip')).resolves.toBeInstanceOf(Buffer)
  })

  it('compresses nothing while the process has too much to do', async () => {
    let overloaded = true
    const compress = createCompression(() => overloaded)
    expect(compress(content, 'gzip')).toBeUndefined()
    overloaded = false
    await expect(compress(content, 'gzip')).resolves.toBeInstanceOf(Buffer)
  })
})
