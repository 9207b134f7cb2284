import { chmodSync, existsSync, linkSync, lstatSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beforeAll, describe, expect, it } from 'vitest'
import { checkPart } from '../support/app/checked-fetch.ts'
import { freePort } from '../support/postgres/postgres-server.ts'
import { runCommand } from '../support/processes/command.ts'
import { makeSupplier } from '../support/processes/ledger.ts'
import { serve, startProcess } from '../support/processes/process.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { until } from '../support/until.ts'

async function prepare() {
  const cwd = tempFolder()
  const where = { cwd, env: { NODE_ENV: 'production', PORT: String(await freePort()) } }
  const { id, key } = await makeSupplier({ cwd, env: { NODE_ENV: 'production' } }, ['--allow', 'SKU-*'])
  return { where, id, key }
}

const order = (id: string, more = ''): string => `{"OrderID":"${id}","Status":1,"ProductID":"SKU-1"${more}}`

function query<Row>(cwd: string, sql: string): Row[] {
  const database = new DatabaseSync(join(cwd, 'data/teslim.db'), { readOnly: true })
  const rows = database.prepare(sql).all()
  database.close()
  return rows as Row[]
}

const stored = (cwd: string): string[] =>
  query<{ order_id: string }>(cwd, 'SELECT order_id FROM delivery ORDER BY position').map(({ order_id }) => order_id)
const countStored = (cwd: string): number => query<{ n: number }>(cwd, 'SELECT count(*) AS n FROM delivery')[0]?.n ?? 0

/** The server of all tests that neither stop one nor need an empty store. */
let shared: Awaited<ReturnType<typeof prepare>>
beforeAll(async () => {
  shared = await prepare()
  await serve(shared.where)
})
let uses = 0

/** A folder of its own, and orders of its own, for a test on the shared server. */
function onSharedServer() {
  const { where, key } = shared
  const cwd = tempFolder()
  const prefix = `test ${++uses}: `
  return {
    cwd,
    file: join(cwd, 'orders.ndjson'),
    order: (id: string) => order(prefix + id),
    stored: () =>
      stored(where.cwd)
        .filter((id) => id.startsWith(prefix))
        .map((id) => id.slice(prefix.length)),
    run: (args: string[], more = {}) =>
      runCommand(['deliver', ...args], { cwd, env: { ...where.env, TESLIM_API_KEY: key }, ...more }),
  }
}

describe('teslim deliver', () => {
  it('stores each line once, however often it is run, and lists what was refused', async () => {
    const { cwd, run, file, order, stored } = onSharedServer()
    const lines = [
      order('1'),
      '',
      '{"Status":7}',
      '{"Status":1},"Status":2',
      order('1'),
      `{"IdempotencyKey":"own","Body":${order('2')}}`,
      `{"IdempotencyKey":null,"Body":${order('3')}}`,
      order('4').replace('SKU', 'OTHER'),
    ]
    writeFileSync(file, lines.join('\r\n'))
    const refusedFile = 'orders.refused.ndjson'
    const checked = await run(['orders.ndjson', '--check'])
    expect([checked.status, checked.stdout.split('\n')[0]]).toEqual([
      1,
      '7 lines answered: 4 would be stored, 0 duplicates, 3 refused',
    ])
    expect(stored()).toEqual([])
    const first = await run(['orders.ndjson', '--json'])
    expect([first.status, first.stderr]).toEqual([1, ''])
    expect(JSON.parse(first.stdout)).toEqual({
      lines: 7,
      stored: 3,
      duplicates: 1,
      refused: 3,
      complete: true,
      reason: null,
      refusedFile,
    })
    const refused = readFileSync(join(cwd, refusedFile), 'utf8').trimEnd().split('\n')
    for (const line of refused) await checkPart('RefusedLine', JSON.parse(line))
    expect(refused.map((line) => JSON.parse(line)).map(({ Line, errorCode }) => [Line, errorCode])).toEqual([
      [3, 'INVALID_REQUEST'],
      [4, 'BODY_NOT_JSON'],
      [8, 'PRODUCT_NOT_AUTHORIZED'],
    ])
    expect(stored()).toEqual(['1', '1', '2', '3'])
    const second = await run(['orders.ndjson'])
    expect(second.stdout).toBe(
      '7 lines answered: 0 stored, 4 duplicates, 3 refused\n  the refused lines are listed in orders.refused.ndjson\n',
    )
    expect(stored()).toEqual(['1', '1', '2', '3'])
    writeFileSync(file, `${order('5')}\n`)
    expect(await run(['orders.ndjson'])).toEqual({
      status: 0,
      stdout: '1 line answered: 1 stored, 0 duplicates, 0 refused\n',
      stderr: '',
    })
    expect(existsSync(join(cwd, refusedFile))).toBe(false)
    const fromStdin = await run(['-'], { stdin: `${order('6')}\n{}` })
    expect(fromStdin).toMatchObject({ status: 1, stdout: '2 lines answered: 1 stored, 0 duplicates, 1 refused\n' })
    expect(JSON.parse(fromStdin.stderr)).toMatchObject({ Line: 2, errorCode: 'INVALID_REQUEST' })
  })

  it.each([
    ['a link to a file of others', (path: string, victim: string) => symlinkSync(victim, path)],
    ['a second name of a file of others', (path: string, victim: string) => linkSync(victim, path)],
  ])('writes its list of refused lines through no name that was planted: %s', async (_, plant) => {
    const { cwd, run, file } = onSharedServer()
    const victim = join(tempFolder(), 'of-root')
    writeFileSync(victim, 'of root\n', { mode: 0o600 })
    // As /tmp: nobody can replace a file there, but somebody may have made it first.
    chmodSync(cwd, 0o1777)
    writeFileSync(file, '{}\n')
    plant(join(cwd, 'orders.refused.ndjson'), victim)
    expect((await run(['orders.ndjson'])).status).toBe(1)
    expect(readFileSync(victim, 'utf8')).toBe('of root\n')
    const list = join(cwd, 'orders.refused.ndjson')
    expect([lstatSync(list).isFile(), lstatSync(list).mode & 0o777]).toEqual([true, 0o600])
    expect(readFileSync(list, 'utf8')).toContain('"errorCode":"INVALID_REQUEST"')
  })

  it('leaves out byte order marks, wherever they are, and lines that hold nothing else', async () => {
    const { run, file, order, stored } = onSharedServer()
    const mark = '\ufeff'
    writeFileSync(file, `${mark}${order('1')}\n${mark} \n${mark}${mark}${order('2')}\n${mark}${mark}\n${order('3')}`)
    expect(await run(['orders.ndjson'])).toMatchObject({
      status: 0,
      stdout: '3 lines answered: 3 stored, 0 duplicates, 0 refused\n',
    })
    expect(stored()).toEqual(['1', '2', '3'])
  })

  it('goes on after the last answered line when the server is killed and started again', async () => {
    const { where, key } = await prepare()
    const { cwd } = where
    const COUNT = 6000
    writeFileSync(join(cwd, 'orders.ndjson'), Array.from({ length: COUNT }, (_, index) => order(`${index}`)).join('\n'))
    const server = await serve(where)
    const env = { ...where.env, TESLIM_API_KEY: key }
    const client = startProcess(['deliver', 'orders.ndjson', '--json'], { cwd, env })
    let printed = ''
    client.stdout.on('data', (bytes) => {
      printed += bytes
    })
    const ended = new Promise((resolve) => client.once('close', resolve))
    await until('some are stored', () => countStored(cwd) > 500)
    server.child.kill('SIGKILL')
    await server.ended
    expect(countStored(cwd)).toBeLessThan(COUNT)
    const next = await serve(where)
    await until('some more are stored', () => countStored(cwd) > COUNT / 2, { milliseconds: 60_000 })
    next.child.kill('SIGTERM')
    await next.ended
    await serve(where)
    expect(await ended).toBe(0)
    expect(JSON.parse(printed)).toMatchObject({ lines: COUNT, refused: 0, complete: true })
    expect(stored(cwd)).toEqual(Array.from({ length: COUNT }, (_, index) => `${index}`))
  })

  it('stops when the key is refused, at once or in between, and says what to do', async () => {
    const { run, file, order, stored } = onSharedServer()
    const { where, id } = shared
    const ofStore = { cwd: where.cwd, env: { NODE_ENV: 'production' } }
    const issued = await runCommand(['key', 'issue', '--customer', id, '--json'], ofStore)
    const { id: keyId, key } = JSON.parse(issued.stdout)
    const env = { ...where.env, TESLIM_API_KEY: key }
    writeFileSync(file, order('1'))
    expect(await run(['orders.ndjson'], { env: { ...env, PORT: String(await freePort()) } })).toEqual({
      status: 1,
      stdout: '0 lines answered: 0 stored, 0 duplicates, 0 refused\n',
      stderr:
        'teslim deliver: the server cannot be reached: ECONNREFUSED. Not every line was sent: run it again, which repeats nothing.\n',
    })
    await runCommand(['key', 'revoke', keyId], ofStore)
    const { status, stderr } = await run(['orders.ndjson'], { env })
    expect([status, stderr]).toEqual([
      1,
      'teslim deliver: The API key is not valid. Not every line was sent: run it again, which repeats nothing.\n',
    ])
    expect(stored()).toEqual([])
  })

  it('takes the key from stdin or TESLIM_API_KEY, never from the command line', async () => {
    const { run, file, order } = onSharedServer()
    const { where, key } = shared
    writeFileSync(file, order('1'))
    expect(await run(['orders.ndjson', '--key-stdin'], { env: where.env, stdin: `${key}\n` })).toMatchObject({
      status: 0,
    })
    const misuses = [
      [['orders.ndjson'], /an API key is needed: TESLIM_API_KEY or --key-stdin/],
      [['-', '--key-stdin'], /both read stdin/],
      [['missing.ndjson'], /missing\.ndjson cannot be read/],
      [['missing.ndjson', '--key-stdin'], /missing\.ndjson cannot be read/],
      [['orders.ndjson', '--key-stdin', '--url', 'ftp://a'], /--url takes an address/],
    ] as const
    for (const [args, message] of misuses) {
      const { status, stderr } = await run([...args], { env: where.env, stdin: key })
      expect([status, stderr]).toEqual([2, expect.stringMatching(message)])
    }
  })
})
