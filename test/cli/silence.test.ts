import { beforeEach, expect, it } from 'vitest'
import { loadConfig } from '#src/config/load-config.ts'
import type { Check } from '#src/doctor/checks.ts'
import type { Customer } from '#src/store/store.ts'
import { runCommand } from '../support/processes/command.ts'
import { commandStage } from '../support/processes/command-stage.ts'
import { apiKey, customer } from '../support/store/store-rows.ts'
import { tempFolder } from '../support/temp-folder.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
let cwd = ''
beforeEach(() => {
  cwd = tempFolder()
})

const run = (args: string[], TESLIM_SILENCE = '') => runCommand(args, { cwd, env: { TESLIM_SILENCE } })
const json = async (args: string[], silence?: string) => JSON.parse((await run([...args, '--json'], silence)).stdout)
const iso = (milliseconds: number) => new Date(milliseconds).toISOString()

/** Suppliers by name, each with its key and when that was used last. */
const suppliers = (all: Readonly<Record<string, { made: number; used?: number } & Partial<Customer>>>): Promise<void> =>
  commandStage({}, cwd).withStore(async (store) => {
    for (const [name, { made, used, ...more }] of Object.entries(all)) {
      const one = customer({ name: '', email: `${name}@example.com`, isApi: false, authority: ['*'], ...more })
      const key = apiKey(one.id, { createdAt: made })
      await store.customers.insert(one)
      await store.apiKeys.insert(key)
      if (used !== undefined) await store.apiKeys.recordUses([{ keyId: key.id, usedAt: used, address: '::1' }], used)
    }
  })

it('customer list, customer show and doctor say who is silent, and for how long', async () => {
  const now = Date.now()
  const usedAt = now - 26.5 * HOUR
  await suppliers({
    quiet: { made: 1, used: usedAt },
    heard: { made: 1, used: now - HOUR },
    newest: { made: now - 3.5 * DAY },
  })
  const roles = async (silence?: string) =>
    Object.fromEntries(
      (await run(['customer', 'list'], silence)).stdout
        .split('\n')
        .map((line) => /^(\w+)@example\.com +(.*?) {2}/.exec(line))
        .map((found) => [found?.[1], found?.[2]]),
    )
  expect(await roles('24h')).toMatchObject({
    quiet: 'supplier only, silent for 26 hours',
    heard: 'supplier only',
    newest: 'supplier only, has never delivered in 3 days',
  })
  expect(await roles()).toMatchObject({ quiet: 'supplier only', newest: 'supplier only' })
  expect((await json(['customer', 'list'], '24h')).map((one: Record<string, unknown>) => one.silentSince)).toEqual([
    iso(usedAt),
    null,
    expect.any(String),
  ])
  const shown = (await run(['customer', 'show', 'quiet@example.com'], '24h')).stdout
  expect(shown).toMatch(/^quiet@example\.com {2}supplier only, silent for 26 hours\n/)
  expect(shown).toMatch(/\n {2}last used {3}\d{4}-/)
  expect(await json(['customer', 'show', 'quiet@example.com'], '24h')).toMatchObject({
    silenceSeconds: null,
    silentSince: iso(usedAt),
  })

  const found = async (silence?: string) =>
    ((await json(['doctor'], silence)).checks as Check[])
      .filter(({ name }) => name === 'suppliers')
      .map(({ status, message }) => `${status}: ${message}`)
  expect(await found()).toEqual([])
  expect(await found('5d')).toEqual(['ok: none of 3 suppliers is silent'])
  expect(await found('24h')).toEqual([
    'warning: 2 suppliers are silent: quiet@example.com silent for 26 hours; newest@example.com has never delivered in 3 days: ask them what is wrong, or allow more time with teslim customer set CUSTOMER --silence TIME',
  ])
})

it.each([
  ['', 'ok: none of 1 supplier is silent'],
  ['24h', 'ok: none of 2 suppliers is silent'],
])(
  'TESLIM_SILENCE="%s": doctor watches who has a time, its own or this one, if it may deliver',
  async (silence, said) => {
    const heard = { made: 1, used: Date.now() }
    await suppliers({
      own: { ...heard, silence: 6 * HOUR },
      usual: heard,
      off: { ...heard, silence: 0 },
      disabled: { ...heard, silence: 6 * HOUR, enabled: false },
      ruleless: { ...heard, silence: 6 * HOUR, authority: [] },
    })
    const { checks } = await json(['doctor'], silence)
    const found = (checks as Check[]).filter(({ name }) => name === 'suppliers')
    expect(found.map(({ status, message }) => `${status}: ${message}`)).toEqual([said])
  },
)

it('doctor names five silent suppliers, those that were heard last, and counts the rest', async () => {
  const now = Date.now()
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
  await suppliers(Object.fromEntries(names.map((name, n) => [name, { made: 1, used: now - (n + 2) * HOUR - 60_000 }])))
  const { checks } = (await json(['doctor'], '1h')) as { checks: Check[] }
  const { message = '' } = checks.find(({ name }) => name === 'suppliers') ?? {}
  expect(message.match(/\w@example\.com silent for \d+ hours/g)).toEqual(
    names.slice(0, 5).map((name, n) => `${name}@example.com silent for ${n + 2} hours`),
  )
  expect(message).toMatch(/; and 2 more: ask them/)
})

it('customer set --silence takes a time, off or default, and keeps it', async () => {
  await suppliers({ one: { made: Date.now() - 7 * HOUR } })
  const set = (silence: string) => json(['customer', 'set', 'one@example.com', '--silence', silence], '24h')
  expect(await set('6h')).toMatchObject({ silenceSeconds: 21_600, silentSince: expect.any(String) })
  expect((await run(['customer', 'show', 'one@example.com'])).stdout).toMatch(
    /has never delivered in 7 hours[\s\S]*\n {2}silence {5}after 6h\n {2}first key {3}/,
  )
  expect(await set('off')).toMatchObject({ silenceSeconds: 0, silentSince: null })
  expect((await run(['customer', 'show', 'one@example.com'], '1m')).stdout).toContain('\n  silence     off')
  expect(await set('default')).toMatchObject({ silenceSeconds: null, silentSince: null })
  for (const wrong of ['0', '59s', '367d', 'on', '']) {
    const { status, stderr } = await run(['customer', 'set', 'one@example.com', '--silence', wrong])
    expect([status, stderr]).toEqual([
      2,
      expect.stringContaining(`--silence takes off, or a time from 1m to 366d such as 24h, or default, not "${wrong}"`),
    ])
  }
  const events = await json(['audit', 'list', '--action', 'customer.set'])
  expect(JSON.stringify(events)).toMatch(/"silence":"6h".*"silence":"off".*"silence":"default"/)
})

it('TESLIM_SILENCE is off, or a time from a minute to a year', () => {
  const read = (TESLIM_SILENCE: string) => loadConfig({ TESLIM_SILENCE }).config.silence
  expect([read(''), read('off'), read('24h'), read('366d')]).toEqual(['off', 'off', '24h', '366d'])
  for (const wrong of ['0', '30s', '367d', 'on'])
    expect(() => read(wrong)).toThrow(`TESLIM_SILENCE: "${wrong}" is not allowed, it must be off, or a time from 1m`)
})
