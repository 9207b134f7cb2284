import { mkdirSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { momentOf } from '#src/cli/input/time.ts'
import { table } from '#src/cli/output/table.ts'
import { localTimes, type Times, utcTimes } from '#src/cli/output/times.ts'
import { newId } from '#src/lib/random.ts'
import { lockForServer } from '#src/store/sqlite/locks/server-lock.ts'
import { inTimeZone } from '../support/app/time-zone.ts'
import { runCommand } from '../support/processes/command.ts'
import { commandStage } from '../support/processes/command-stage.ts'
import { apiKey, customer, delivery } from '../support/store/store-rows.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const at = (text: string): number => Date.parse(text)
/** Clocks are set back in New York at 06:00 UTC: 01:00 to 02:00 occurs twice. */
const SET_BACK = at('2026-11-01T06:00:00Z')
const ZONES = ['UTC', 'Europe/Istanbul', 'Europe/London', 'Asia/Kathmandu', 'America/New_York', 'America/St_Johns']

/** The lines of a table's column of times. */
const column = (times: Times, all: readonly number[]): string[] =>
  table(
    [times.heading('time'), ''],
    all.map((time) => [times.text(time), '']),
  ).split('\n')

describe('a local time', () => {
  it.each([
    ['UTC', '2026-11-26 07:42:05 UTC', '2026-07-26 07:42:05 UTC'],
    ['Europe/Istanbul', '2026-11-26 10:42:05 +03:00', '2026-07-26 10:42:05 +03:00'],
    ['Asia/Kathmandu', '2026-11-26 13:27:05 +05:45', '2026-07-26 13:27:05 +05:45'],
    ['America/New_York', '2026-11-26 02:42:05 -05:00', '2026-07-26 03:42:05 -04:00'],
    ['America/St_Johns', '2026-11-26 04:12:05 -03:30', '2026-07-26 05:12:05 -02:30'],
  ])('of %s has its offset then', async (zone, winter, summer) => {
    const times = [at('2026-11-26T07:42:05.999Z'), at('2026-07-26T07:42:05Z')]
    expect(await inTimeZone(zone, () => times.map(localTimes.text))).toEqual([winter, summer])
    expect(await inTimeZone(zone, () => times.map(utcTimes.text))).toEqual([
      '2026-11-26 07:42:05 UTC',
      '2026-07-26 07:42:05 UTC',
    ])
  })

  it('before the year 0 or after 9999 is whole, too', () =>
    inTimeZone('Etc/GMT-3', () => {
      expect(localTimes.text(at('-000712-12-30T07:10:05.999Z'))).toBe('-000712-12-30 10:10:05 +03:00')
      expect(utcTimes.text(at('+010000-01-01T07:10:05Z'))).toBe('+010000-01-01 07:10:05 UTC')
    }))

  it('shares its zone with the others of a column, in the heading', async () => {
    const heading = [localTimes.heading('time'), 'label', localTimes.heading('expires')]
    const rows = () =>
      [SET_BACK, SET_BACK + 2 * HOUR].map((time) => [localTimes.text(time), 'x 2026-01-01 00:00:00 UTC', 'never'])
    const lines = async (zone: string) => (await inTimeZone(zone, () => table(heading, rows()))).split('\n')
    expect(await lines('Europe/Istanbul')).toEqual([
      'time (+03:00)        label                      expires',
      '2026-11-01 09:00:00  x 2026-01-01 00:00:00 UTC  never',
      '2026-11-01 11:00:00  x 2026-01-01 00:00:00 UTC  never',
    ])
  })

  it('has its offset beside it where a column has several, or where it occurs twice', async () => {
    const inNewYork = (...times: number[]) => inTimeZone('America/New_York', () => column(localTimes, times))
    expect(await inNewYork(SET_BACK - 2 * HOUR, SET_BACK + HOUR)).toEqual([
      'time',
      '2026-11-01 00:00:00 -04:00',
      '2026-11-01 02:00:00 -05:00',
    ])
    expect(await inNewYork(SET_BACK + HOUR)).toEqual(['time (-05:00)', '2026-11-01 02:00:00'])
    expect(await inNewYork(SET_BACK + 1000)).toEqual(['time', '2026-11-01 01:00:01 -05:00'])
  })
})

describe('a time that is typed', () => {
  const read = (zone: string, text: string, isUtc = false) => inTimeZone(zone, () => momentOf(text, 0, isUtc))

  it.each([
    ['Europe/Istanbul', '2026-11-26', '2026-11-25T21:00:00Z'],
    ['Europe/Istanbul', '2026-11-26 10:42', '2026-11-26T07:42:00Z'],
    ['Europe/Istanbul', '2026-11-26T10:42:05', '2026-11-26T07:42:05Z'],
    ['Asia/Kathmandu', '2026-11-26', '2026-11-25T18:15:00Z'],
    ['America/New_York', '2026-07-26 03:42', '2026-07-26T07:42:00Z'],
    ['America/New_York', '2026-11-26 02:42', '2026-11-26T07:42:00Z'],
    // There is no such time.
    ['America/New_York', '2026-03-08 02:30', '2026-03-08T07:30:00Z'],
    ['UTC', '2026-11-26', '2026-11-26T00:00:00Z'],
  ])('in %s as %s is local', async (zone, text, expected) => {
    expect(await read(zone, text)).toBe(at(expected))
    const written = text.includes(':') ? `${text.replace(' ', 'T')}Z` : `${text}T00:00Z`
    expect(await read(zone, text, true)).toBe(at(written))
  })

  it.each([
    '2026-11-26T07:42:00Z',
    '2026-11-26 07:42 UTC',
    '2026-11-26 07:42 utc',
    '2026-11-26 10:42 +03:00',
    '2026-11-26 10:42:00+03:00',
  ])('as %s means the same everywhere', async (text) => {
    for (const zone of ZONES)
      for (const isUtc of [false, true]) expect(await read(zone, text, isUtc)).toBe(at('2026-11-26T07:42:00Z'))
  })

  it.each(['2026-11-26 10:42 +3', '2026-11-26  10:42', '2026-11-26 10:42  UTC', '2026-02-30 10:00', '10:42', 'UTC'])(
    'as %s is refused',
    async (text) => expect(await read('Europe/Istanbul', text)).toBeUndefined(),
  )

  it.each(ZONES)('as a terminal in %s printed it means the same second', (zone) =>
    inTimeZone(zone, () => {
      const second = fc.integer({ min: at('1990-01-01T00:00Z') / 1000, max: at('2037-01-01T00:00Z') / 1000 })
      const aroundChange = fc.integer({ min: -7200, max: 7200 }).map((shift) => SET_BACK / 1000 + shift)
      fc.assert(
        fc.property(fc.array(fc.oneof(second, aroundChange), { minLength: 1, maxLength: 3 }), (seconds) => {
          const times = seconds.map((each) => each * 1000)
          const [, ...cells] = column(localTimes, times)
          for (const texts of [cells, times.map(localTimes.text)])
            expect(texts.map((text) => momentOf(text, 0, false))).toEqual(times)
          const [, ...inUtc] = column(utcTimes, times)
          expect(inUtc.map((text) => momentOf(text, 0, true))).toEqual(times)
        }),
      )
    }),
  )
})

describe('commands', () => {
  const { cwd, path, withStore } = commandStage()
  const shop = customer({ email: 'shop@example.com', name: '', createdAt: at('2026-11-20T22:30:00Z') })
  const sent = ['2026-11-20T21:30:00Z', '2026-11-20T22:30:00Z'].map((time) =>
    delivery(shop.id, {
      receiptId: newId(at(time), (size) => Buffer.alloc(size, 1)),
      receivedAt: at(time),
      orderId: 'PO-1',
    }),
  )
  /** The next day but one in Istanbul. */
  const expiring = apiKey(shop.id, { expiresAt: Math.ceil(Date.now() / DAY) * DAY + 22.5 * HOUR })

  beforeAll(() =>
    withStore(async ({ customers, apiKeys, deliveries }) => {
      await customers.insert(shop)
      await apiKeys.insert(expiring)
      for (const each of sent) await deliveries.deliver(each)
    }),
  )

  const run = async (args: readonly string[], TZ: string, columns?: number) => {
    const { status, stdout, stderr } = await runCommand(args, { cwd, env: { TZ }, ...(columns && { columns }) })
    expect([args, status, stderr]).toEqual([args, 0, ''])
    return stdout
  }
  const onTerminal = (...args: string[]) => run(args, 'Europe/Istanbul', 80)
  const inPipe = (...args: string[]) => run(args, 'Europe/Istanbul')

  it('print local times on a terminal, in 80 columns', async () => {
    const list = await onTerminal('delivery', 'list')
    expect(list).toMatch(/^time \(\+03:00\) +order /)
    expect(list).toMatch(/^2026-11-21 00:30:00 {2}PO-1 .*\n.*\n2026-11-21 01:30:00 {2}PO-1 /m)
    expect(await onTerminal('delivery', 'show', sent[0]?.receiptId ?? '')).toContain(
      '\n  received    2026-11-21 00:30:00 +03:00\n',
    )
    expect(await onTerminal('customer', 'show', shop.email)).toContain('\n  added       2026-11-21 01:30:00 +03:00\n')
    expect(await onTerminal('order', 'show', 'PO-1')).toContain('\ntime (+03:00) ')
    expect(await onTerminal('order', 'list')).toContain('changed (+03:00)')
    const issued = await onTerminal('key', 'issue', '--customer', shop.email, '--expires', '90d')
    expect(issued).toMatch(/; valid until [\d-]{10} [\d:]{8} \+03:00; /)
    expect(await onTerminal('key', 'list')).toMatch(/expires \(\+03:00\) +last used +last address/)
    const audit = await onTerminal('audit', 'list')
    expect(audit).toMatch(/^time \(\+03:00\) +action/)
    expect(audit.replaceAll(/\s+/g, ' ')).toMatch(/expiresAt [\d-]{10} [\d:]{8} \+03:00/)
    for (const args of [['delivery', 'list'], ['order', 'list'], ['audit', 'list'], ['key', 'list'], ['stats']])
      for (const zone of ZONES)
        for (const line of (await run(args, zone, 80)).split('\n')) expect(line.length).toBeLessThanOrEqual(80)
  })

  /** What changes from one moment to the next. */
  const still = (text: string): string => text.replace(/"CountedUntil":"[^"]+Z"/, '')

  it.each([
    [['delivery', 'list']],
    [['delivery', 'show', sent[0]?.receiptId ?? '']],
    [['order', 'show', 'PO-1']],
    [['key', 'list']],
    [['customer', 'show', shop.email]],
    [['stats', '--from', '2026-11-20T12:00:00Z', '--to', '2026-11-21T00:00:00Z']],
  ])('print UTC with --utc, --json and in a pipe: %j', async (args) => {
    const plain = still(await run(args, 'UTC'))
    expect(still(await inPipe(...args))).toBe(plain)
    expect(still(await inPipe(...args, '--utc'))).toBe(plain)
    expect(still(await onTerminal(...args, '--utc'))).toBe(still(await run([...args, '--utc'], 'UTC', 80)))
    expect(still(await onTerminal(...args, '--json'))).toBe(still(await run([...args, '--json'], 'UTC')))
  })

  it('take a local time with --from and --to, wherever their output goes, and with --utc one in UTC', async () => {
    const receipts = async (print: typeof onTerminal, ...args: string[]) => {
      const found = (await print('delivery', 'list', ...args)).match(/[0-9a-f-]{36}$/gm)
      return sent.flatMap(({ receiptId }, index) => (found?.includes(receiptId) ? [index] : []))
    }
    for (const print of [onTerminal, inPipe]) {
      expect(await receipts(print, '--from', '2026-11-21 01:30:00')).toEqual([1])
      expect(await receipts(print, '--from', '2026-11-21 01:30:00 +03:00')).toEqual([1])
      expect(await receipts(print, '--to', '2026-11-21 01:30:00')).toEqual([0])
      expect(await receipts(print, '--from', '2026-11-21')).toEqual([0, 1])
      expect(await receipts(print, '--from', '2026-11-20 22:30', '--utc')).toEqual([1])
      expect(await receipts(print, '--from', '2026-11-21', '--utc')).toEqual([])
      expect(await receipts(print, '--utc', '--to', '2026-11-21')).toEqual([0, 1])
    }
  })

  it('list local hours in stats, also where they begin within an hour in UTC, and days in UTC', async () => {
    const range = ['--from', '2026-11-20T21:00:00Z', '--to', '2026-11-20T23:00:00Z']
    expect(await run(['stats', ...range], 'Asia/Kathmandu', 80)).toMatch(
      /^hour \(\+05:45\) +deliveries .*\n2026-11-21 02:45:00 .*\n2026-11-21 03:45:00 .*\ntotal /,
    )
    expect(await onTerminal('stats', '--by', 'day', '--from', '2026-11-20', '--to', '2026-11-21')).toBe(
      await run(['stats', '--by', 'day', '--from', '2026-11-20', '--to', '2026-11-21'], 'UTC', 80),
    )
  })

  it('print since when a server has run', async () => {
    const lock = lockForServer(path, at('2026-11-20T22:30:00Z'))
    const said = (await onTerminal('doctor')).replaceAll(/\s+/g, ' ')
    const found = JSON.parse(await inPipe('doctor', '--json')).checks.find(
      ({ name }: { name: string }) => name === 'server',
    )
    lock.release()
    const on = `process ${process.pid} on ${hostname()}`
    expect(said).toContain(`ok server ${on} (since 2026-11-21 01:30:00 +03:00) uses the file`)
    expect(found.message).toBe(`${on} (since 2026-11-20 22:30:00 UTC) uses the file`)
  })

  it('print local times in sentences', async () => {
    mkdirSync(join(cwd, 'backups'))
    await onTerminal('backup', 'backups/b.db')
    expect(await onTerminal('restore', 'backups/b.db', '--check')).toMatch(/ of 2026-11-21 01:30:00 \+03:00\.\n/)
    expect(await inPipe('restore', 'backups/b.db', '--check')).toMatch(/ of 2026-11-20T22:30:00\.000Z\.\n/)
    expect(await onTerminal('purge', '--older', '400d', '--dry-run')).toMatch(
      /, received before [\d-]{10} [\d:]{8} \+03:00\.\n/,
    )
    const doctor = async (print: typeof onTerminal) => (await print('doctor')).replaceAll(/\s+/g, ' ')
    const [local, utc] = [await doctor(onTerminal), await doctor(inPipe)]
    expect(local).toMatch(/the last one was made within the last hour, at [\d-]{10} [\d:]{8} \+03:00 /)
    expect(utc).toMatch(/the last one was made within the last hour, at [\d-]{10} [\d:]{8} UTC /)
    const day = (later: number) => new Date((expiring.expiresAt ?? 0) + later).toISOString().slice(0, 10)
    expect(local).toContain(`${expiring.id} of ${shop.email} on ${day(3 * HOUR)}`)
    expect(utc).toContain(`${expiring.id} of ${shop.email} on ${day(0)}`)

    for (const [args, end] of [
      [[], `${day(3 * HOUR)} 01:30:00 +03:00`],
      [['--json'], `${day(0)}T22:30:00.000Z`],
    ] as const) {
      await onTerminal('key', 'set', expiring.id, '--expires', '1h')
      expect(await onTerminal('restore', 'backups/b.db', ...args)).toContain(`is valid until ${end} again`)
    }
  })
})
