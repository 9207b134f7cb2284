import { globSync, readFileSync } from 'node:fs'
import { expect, it, vi } from 'vitest'
import { BENCHES } from '../bench/benches.ts'
import { chooseBench } from '../bench/options.ts'
import { collectJson, printHead, printTable, say } from '../bench/report.ts'
import { tempFolder } from './support/temp-folder.ts'

const choose = (...args: string[]) => chooseBench(args, BENCHES)
const pages = globSync('{*.md,docs/**/*.md}').map((page) => readFileSync(page, 'utf8').replaceAll(/\s+/g, ' '))
const cited = pages.flatMap((page) =>
  Array.from(page.matchAll(/`npm run bench(?: -- ([^`]*))?`/g), ([, args = '']) => args.replace('NAME', 'orders')),
)

it('the pages cite every measurement, and nothing that there is not', () => {
  const names = cited.map((args) => {
    const chosen = choose(...args.split(' ').filter(Boolean))
    return typeof chosen === 'string' ? 'help' : chosen.name
  })
  expect(new Set(names)).toEqual(new Set(Object.keys(BENCHES)))
})

it.each([
  [['read', 'feed'], 'one thing is measured at a time: "read" or "feed"'],
  [['serve'], 'there is no measurement "serve"'],
  [['storms'], 'there is no measurement "storms", did you mean storm?'],
  [['constructor'], `there is no measurement "constructor": there are ${Object.keys(BENCHES).join(', ')}`],
  [['--rounds', 'x'], '--rounds takes a whole number from 1 on, not "x"'],
  [['tail', '--rate', '0'], '--rate takes a whole number from 1 on, not "0"'],
  [['--shape', 'round'], 'there is no shape "round": there are stream, orders, large, mixed'],
  [['start', '--postgres'], '"start" does not heed --postgres'],
  [['--raounds', '3'], 'there is no option --raounds, did you mean --rounds?'],
  [['--read'], 'there is no option --read'],
])('npm run bench -- %j is refused in one sentence', (args, message) => {
  expect(() => choose(...args)).toThrow(expect.objectContaining({ message: expect.stringContaining(message) }))
})

it('each measurement has its own usual numbers, which modifiers replace', () => {
  expect(choose()).toMatchObject({
    name: 'deliveries',
    json: false,
    options: { rounds: 5, seconds: 8, rate: 0 },
  })
  expect(choose('tail', '--postgres', '--json')).toMatchObject({ json: true, options: { seconds: 60, postgres: true } })
  expect(choose('backup', '--seconds', '3')).toMatchObject({ options: { seconds: 3, most: 1_000_000_000 } })
})

it('the help says of each measurement how long it takes, how much disk it needs and what changes it', () => {
  const help = choose('--help')
  for (const name of Object.keys(BENCHES)) expect(help).toMatch(new RegExp(`\n  ${name} .*\n +\\d+ min, \\d+ GB; --`))
})

it('--json prints one value: on what the figures depend, tables by their headings, and what is said', () => {
  const log = vi.spyOn(console, 'log').mockReturnValue(undefined)
  const print = collectJson()
  printHead('read', tempFolder())
  printTable(['server', 'p99 ms', 'p99 ms'], [['bare', '1', '2']])
  say('\naims: none')
  expect(log).not.toHaveBeenCalled()
  print()
  const [[text]] = log.mock.calls as [[string]]
  log.mockRestore()
  expect(JSON.parse(text)).toEqual({
    head: {
      measured: 'read',
      on: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
      machine: expect.stringMatching(/^\d+ x .+, \d+ GiB$/),
      busy: expect.stringMatching(/^load \d+\.\d before it began$/),
      node: process.versions.node,
      commit: expect.stringMatching(/^([0-9a-f]{12}(, changed)?|unknown)$/),
      fdatasync: expect.stringMatching(/^\d+\.\d\d ms$/),
    },
    tables: [[{ server: 'bare', 'p99 ms': '1', 'p99 ms 2': '2' }]],
    lines: ['aims: none'],
  })
})
