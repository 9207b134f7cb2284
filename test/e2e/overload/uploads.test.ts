import { expect, it, vi } from 'vitest'
import { fetch } from '../../support/app/checked-fetch.ts'
import { failure } from '../../support/app/failure.ts'
import { HEAP_OF_512_MEGABYTES, hold, peakMegabytes } from '../../support/app/hostile.ts'
import { parseAnswers } from '../../support/app/raw-http.ts'
import { upload } from '../../support/app/upload.ts'
import { keyOfSupplier } from '../../support/processes/ledger.ts'
import { runPrepared } from '../../support/processes/prepared-commands.ts'
import { serve } from '../../support/processes/process.ts'
import { tempFolder } from '../../support/temp-folder.ts'

vi.setConfig({ testTimeout: 60_000 })

const UPLOADS = 200
const LINES = 40_000

const isLinux = process.platform === 'linux'
if (!isLinux) console.log('the memory of uploads: skipped, memory is read from /proc')

it.skipIf(!isLinux)(
  'hundreds of uploads that wait with unread lines take bounded memory (read from /proc)',
  async () => {
    const cwd = tempFolder()
    const key = await keyOfSupplier({ cwd })
    const run = async (...args: string[]) => JSON.parse((await runPrepared([...args, '--json'], { cwd })).stdout)
    const { id } = await run('customer', 'add', '--email', 'other@b.co', '--generate', '--allow', '*')
    const { key: other } = await run('key', 'issue', '--customer', id)
    // Each upload waits for its turn with all that it has read.
    const env = { NODE_ENV: 'production', TESLIM_RATE_LIMIT: '1' }
    const server = await serve({ cwd, env, node: HEAP_OF_512_MEGABYTES })
    const post = (apiKey: string) =>
      fetch(`${server.url}/Purchase/update`, { method: 'POST', headers: { ApiKey: apiKey }, body: '{"Status":1}' })
    expect((await post(key)).status).toBe(200)
    const before = peakMegabytes(server)

    const bytes = '1\n'.repeat(LINES)
    const head = `POST /Purchase/updates HTTP/1.1\r\nHost: a\r\nApiKey: ${key}\r\nContent-Length: 100000000\r\n\r\n`
    const uploads = await hold(server, UPLOADS, head, bytes)
    const refused = () => parseAnswers(uploads.answers().join(''))
    // Each takes 128 KiB of an eighth of 64 MiB, and one customer gets half of that.
    await expect.poll(() => refused().length, { timeout: 15_000 }).toBe(UPLOADS - 32)
    for (const { status, head, body } of refused()) {
      expect([status, body]).toEqual([503, failure('BODIES_OVERLOADED')])
      expect(head).toContain('retry-after: 1')
      expect(head).toContain('connection: close')
    }
    // Others find room, and single deliveries have their own.
    expect((await upload(server.url, other, '{"Status":1}')).answers).toMatchObject([{ success: true }])
    expect((await post(key)).status).toBe(429)
    expect(peakMegabytes(server) - before).toBeLessThan(120)
    uploads.leave()
    await expect.poll(async () => (await upload(server.url, key, '')).status).toBe(200)
  },
)
