import { expect, it, onTestFinished } from 'vitest'
import { canMount } from '../../support/faults/faults.ts'
import { back, bytesOfLog, DISK, MIB, onSmallDisk, pin, readiness, refused } from '../../support/faults/full-disk.ts'
import { deliver, missingFrom } from '../../support/processes/ledger.ts'
import { runPrepared } from '../../support/processes/prepared-commands.ts'
import { randomBelow } from '../../support/random.ts'
import { until } from '../../support/until.ts'

const mountable = canMount()

it.runIf(mountable)(
  'a log that cannot be copied because of a reader takes no more of a disk than half, and is copied as soon as the reader has left',
  async () => {
    const { path, options, start, kill, acknowledged } = await onSmallDisk()
    const running = await start()
    await running.load.more(100)
    const leave = pin(path)
    await refused(running.load)
    expect(bytesOfLog(path)).toBeLessThanOrEqual(DISK / 2)
    await running.server.printed(/cannot be copied into the file: somebody reads an old state: .*process \d+/)
    expect([...running.load.others.keys()]).toEqual([503])
    const { checks } = JSON.parse((await runPrepared(['doctor', '--json'], options)).stdout)
    expect(checks.find(({ name }: { name: string }) => name === 'log')).toMatchObject({
      status: 'warning',
      message: expect.stringMatching(
        /^the file that ends in -wal has 1\d\.\d MiB, and may have [12]\d\.\d MiB on this disk; beyond that/,
      ),
    })
    leave()
    await back(running.load)
    await running.load.more(200)
    await kill(running)
    expect(missingFrom(path, acknowledged())).toEqual([])
  },
)

it.runIf(mountable)(
  'a disk that is full and gets room again, under load with kills and readers, loses nothing: each time deliveries are back within seconds',
  async () => {
    const { disk, path, start, kill, acknowledged } = await onSmallDisk()
    let running = await start()
    let most = 0
    const looking = setInterval(() => {
      most = Math.max(most, bytesOfLog(path))
    }, 5)
    onTestFinished(() => clearInterval(looking))
    for (const fault of ['none', 'reader', 'kill', 'reader and kill', 'kill until there is room', 'none', 'reader']) {
      await running.load.more(50 + randomBelow(500))
      const leave = fault.includes('reader') ? pin(path) : () => undefined
      // Less than what fills the log while it is read.
      await running.load.more(randomBelow(100))
      disk.fill(randomBelow(2) * randomBelow(MIB))
      await refused(running.load)
      if (fault.includes('kill')) {
        await kill(running)
        leave()
        if (fault.includes('room')) disk.clear()
        running = await start()
        if (!fault.includes('room')) await refused(running.load)
      }
      disk.clear()
      leave()
      await back(running.load)
    }
    await kill(running)
    expect(most).toBeLessThanOrEqual(DISK / 2)
    expect(missingFrom(path, acknowledged())).toEqual([])
  },
  // Seven faults, of which each may take a minute on a busy machine.
  7 * 60_000,
)

it.runIf(mountable)(
  '/readyz does not change while the disk is full, though small deliveries and refusals are written in between',
  async () => {
    const { disk, key, start, kill, path, acknowledged } = await onSmallDisk()
    const running = await start()
    const { url } = running.server
    await running.load.more(100)
    // Room for some small deliveries, but not for large ones.
    const large = deliver({ url, key, bytes: 900_000, clients: 2 })
    disk.fill(3 * MIB)
    await refused(large)
    expect(await readiness(running.server, 1)).toEqual([503])
    const wrong = deliver({ url, key: 'nobody', clients: 2 })
    expect(new Set(await readiness(running.server, 200))).toEqual(new Set([503]))
    expect([...wrong.others.keys()]).toEqual([401])
    disk.clear()
    await back(large)
    await until('it is ready', async () => (await readiness(running.server, 1))[0] === 200)
    await Promise.all([wrong.stop(), large.stop()])
    await kill(running)
    expect(missingFrom(path, [...acknowledged(), ...large.acknowledged])).toEqual([])
  },
)
