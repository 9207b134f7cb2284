import { once } from 'node:events'
import { existsSync, rmSync } from 'node:fs'
import { expect, it, onTestFinished } from 'vitest'
import { ask } from '../../support/app/ask.ts'
import { canMount } from '../../support/faults/faults.ts'
import { BACK_MILLISECONDS, back, onSmallDisk, readiness, refused } from '../../support/faults/full-disk.ts'
import { missingFrom } from '../../support/processes/ledger.ts'
import { startProcess } from '../../support/processes/process.ts'
import { until } from '../../support/until.ts'

const mountable = canMount()

it.runIf(mountable)(
  'a server that was killed while its disk was full starts on it, reads, says what is wrong, and takes deliveries as soon as there is room',
  async () => {
    const { disk, key, path, start, kill, acknowledged } = await onSmallDisk()
    let running = await start()
    await running.load.more(100)
    const list = (url: string) => ask(`${url}/Supplier/deliveries?limit=1`, { method: 'GET', headers: { ApiKey: key } })
    // Makes the key of cursors.
    await list(running.server.url)
    for (const round of ['with a record of the last server', 'without one']) {
      disk.fill()
      await refused(running.load)
      await kill(running)
      if (round === 'without one') rmSync(`${path}-server`)
      disk.fill()
      running = await start()
      const { url } = running.server
      await refused(running.load)
      expect(running.load.acknowledged).toEqual([])
      const ready = await ask(`${url}/readyz`, { method: 'GET', headers: {} })
      expect(ready).toMatchObject({ status: 503, body: expect.stringContaining('its disk is full') })
      await running.server.printed(/"level":50.*its disk is full.*"msg":"store lost"/)
      const { status, body } = await list(url)
      expect(status).toBe(200)
      expect(acknowledged().map(({ receipt }) => receipt)).toContain(JSON.parse(body).data.Deliveries[0].ReceiptID)
      disk.clear()
      await back(running.load)
      await until('it is ready', async () => (await readiness(running.server, 1))[0] === 200, {
        milliseconds: BACK_MILLISECONDS,
      })
    }
    await kill(running)
    expect(missingFrom(path, acknowledged())).toEqual([])
  },
)

it.runIf(mountable)(
  'a server that is started on a full disk, without the files that SQLite needs beside the store, says so and serves as soon as there is room',
  async () => {
    const { disk, path, start, stop, options, acknowledged } = await onSmallDisk()
    const running = await start()
    await running.load.more(100)
    await stop(running)
    expect(existsSync(`${path}-shm`)).toBe(false)
    disk.fill()
    const waiting = startProcess(['serve'], { ...options, env: { ...options.env, PORT: '0', TESLIM_OPS_PORT: '0' } })
    onTestFinished(() => void waiting.kill('SIGKILL'))
    let printed = ''
    for (const stream of [waiting.stdout, waiting.stderr]) stream.on('data', (chunk) => (printed += chunk))
    await until('it says what it waits for', () => printed.includes('no room to open the store'))
    expect(printed).toMatch(
      /"reason":"[^"]*its disk is full[^"]*","msg":"no room to open the store: requests get 503 until there is"/,
    )
    const [, url] = /listening on (http:[^"]+)"/.exec(printed) ?? []
    expect(await ask(`${url}/readyz`, { method: 'GET', headers: {} })).toMatchObject({ status: 503 })
    disk.clear()
    await until('the store is open', () => printed.includes('the store is open'), { milliseconds: BACK_MILLISECONDS })
    expect(await ask(`${url}/readyz`, { method: 'GET', headers: {} })).toMatchObject({ status: 200 })
    waiting.kill('SIGKILL')
    await once(waiting, 'exit')
    expect(missingFrom(path, acknowledged())).toEqual([])
  },
)
