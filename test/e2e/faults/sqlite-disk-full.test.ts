import { statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { fetch } from '../../support/app/checked-fetch.ts'
import { BYTES_OF_SMALL_LOG, canMount, smallDisk, smallLog } from '../../support/faults/faults.ts'
import { deliver, keyOfSupplier, type Load, missingFrom } from '../../support/processes/ledger.ts'
import { runPrepared } from '../../support/processes/prepared-commands.ts'
import { serve, teslim } from '../../support/processes/process.ts'
import { tempFolder } from '../../support/temp-folder.ts'

const mountable = canMount()
const LOG = BYTES_OF_SMALL_LOG

async function onSmallDisk(megabytes: number) {
  const disk = smallDisk(megabytes)
  const path = join(disk.path, 'data/teslim.db')
  const options = { cwd: tempFolder(), env: { NODE_ENV: 'production', DATABASE_URL: `sqlite:${path}` } }
  const key = await keyOfSupplier(options)
  const server = await serve({ ...options, ...smallLog })
  return { disk, path, key, server }
}

/** Until so many more deliveries are refused, and none with another status than 503. */
async function refused(load: Load, more: number): Promise<void> {
  const before = load.others.get(503) ?? 0
  await expect.poll(() => load.others.get(503) ?? 0, { timeout: 15_000 }).toBeGreaterThan(before + more)
  expect([...load.others.keys()]).toEqual([503])
}

it.runIf(mountable)(
  'deliveries are refused, and the server is not ready, while the disk has no room for the log and to copy it into the file; both go on by themselves once there is room',
  async () => {
    const { disk, path, key, server } = await onSmallDisk(16)
    const status = async (place: string) => (await fetch(`${server.url}/${place}`)).status
    const room = 4 * 1024 * 1024
    disk.fill(room)
    const load = deliver({ url: server.url, key, bytes: 16_000, clients: 4 })
    await refused(load, 30)
    expect(statSync(`${path}-wal`).size).toBeLessThan(disk.free())
    const whenFull = statSync(path).size
    disk.clear()
    await load.more(200)
    await expect.poll(() => statSync(path).size).toBeGreaterThan(whenFull + LOG / 8)

    disk.fill()
    await refused(load, 30)
    await server.printed(/its disk is full.*"msg":"store lost"/)
    await expect.poll(() => status('readyz'), { timeout: 5000 }).toBe(503)
    expect(await status('livez')).toBe(200)
    disk.clear()
    await expect.poll(() => status('readyz'), { timeout: 5000 }).toBe(200)
    await load.more(200)
    server.child.kill('SIGKILL')
    await load.stop()
    expect(missingFrom(path, load.acknowledged)).toEqual([])
  },
)

it.runIf(mountable).each([
  ['no room at all', 0],
  ['room for the first pages', 65_536],
])(
  'a first start on a disk with %s says so in one line for operators, and works once there is room',
  async (_, left) => {
    const disk = smallDisk(1)
    disk.fill(left)
    const env = { PORT: '0', DATABASE_URL: `sqlite:${disk.path}/data/teslim.db` }
    const { status, stderr } = await teslim(['serve'], { cwd: tempFolder(), env })
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: expect.stringMatching(/^teslim serve: .*disk is full.*\n$/),
    })
    expect(stderr).not.toMatch(/request|send/)
    disk.clear()
    expect(await runPrepared(['migrate'], { cwd: tempFolder(), env })).toMatchObject({ status: 0, stderr: '' })
  },
)
