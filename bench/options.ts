import { parseArgs } from 'node:util'
import { nearest } from '#src/lib/nearest.ts'
import type { Load } from './load.ts'
import { SHAPES, type Shape, type ShapeName } from './shapes.ts'

interface Numbers {
  readonly rounds: number
  readonly seconds: number
  readonly connections: number
  readonly most: number
  readonly old: number
  /** Deliveries a second; 0 for several rates in turn. */
  readonly rate: number
}

export interface BenchOptions extends Numbers {
  /** For what is measured; removed at the end. */
  readonly folder: string
  /** An empty database, and the folder of its files. */
  readonly databaseUrl: string
  readonly data: string
  readonly load: Load
  readonly postgres: boolean
  readonly shape: Shape
}

/** What may be changed of a measurement, with what it is unless its row in `BENCHES` says otherwise. */
const MODIFIERS = {
  rounds: { about: 'rounds of each measurement', usual: 5 },
  seconds: { about: 'seconds of each round', usual: 8 },
  connections: { about: 'connections that send at once', usual: 64 },
  most: { about: 'deliveries, or what else the store starts or ends with', usual: 5_000_000 },
  old: { about: 'deliveries that are removed', usual: 1_000_000 },
  rate: { about: 'deliveries a second', usual: 0 },
} as const satisfies Readonly<Record<keyof Numbers, { readonly about: string; readonly usual: number }>>

export interface Bench {
  readonly about: string
  /** With the usual numbers, about. */
  readonly minutes: number
  readonly gigabytes: number
  /** What it heeds; a number replaces the usual one. */
  readonly heeds: Readonly<Partial<Record<keyof Numbers, number | true> & Record<'postgres' | 'shape', true>>>
  run(options: BenchOptions): Promise<void>
}

export type Benches = Readonly<Record<string, Bench>>

/** The command line is wrong. */
export class Misuse extends Error {}

const USUAL_NAME = 'deliveries'

/** What is to be measured, and how. */
export interface Chosen {
  readonly name: string
  readonly bench: Bench
  readonly json: boolean
  readonly options: Omit<BenchOptions, 'folder' | 'databaseUrl' | 'data' | 'load'>
}

/** Reads the command line; returns the help if that was asked for. Throws `Misuse`. */
export function chooseBench(args: string[], benches: Benches): Chosen | string {
  const { values, positionals } = parse(args)
  const { help, json = false, ...modifiers } = values
  if (help) return helpOn(benches)
  const [name = USUAL_NAME, other] = positionals
  if (other !== undefined) throw new Misuse(`one thing is measured at a time: "${name}" or "${other}"`)
  const bench = Object.hasOwn(benches, name) ? benches[name] : undefined
  if (bench === undefined) throw new Misuse(`there is no measurement "${name}"${guess(name, Object.keys(benches))}`)
  for (const modifier of Object.keys(modifiers))
    if (!(modifier in bench.heeds)) throw new Misuse(`"${name}" does not heed --${modifier}`)
  const { shape = 'stream', postgres = false } = modifiers
  if (!Object.hasOwn(SHAPES, shape))
    throw new Misuse(`there is no shape "${shape}"${guess(shape, Object.keys(SHAPES))}`)
  const numberOf = (modifier: keyof Numbers): number => {
    const [given, own] = [modifiers[modifier], bench.heeds[modifier]]
    if (given !== undefined) return readNumber(modifier, given)
    return typeof own === 'number' ? own : MODIFIERS[modifier].usual
  }
  return {
    name,
    bench,
    json,
    options: {
      rounds: numberOf('rounds'),
      seconds: numberOf('seconds'),
      connections: numberOf('connections'),
      most: numberOf('most'),
      old: numberOf('old'),
      rate: numberOf('rate'),
      postgres,
      shape: SHAPES[shape as ShapeName],
    },
  }
}

function parse(args: string[]) {
  const [flag, text] = [{ type: 'boolean' }, { type: 'string' }] as const
  const options = {
    ...{ rounds: text, seconds: text, connections: text, most: text, old: text, rate: text, shape: text },
    ...{ postgres: flag, json: flag, help: flag },
  }
  try {
    return parseArgs({ args, options, allowPositionals: true })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const unknown = code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION' && /'(-[^']*)'/.exec(message)?.[1]
    const known = Object.keys(options).map((name) => `--${name}`)
    throw new Misuse(unknown ? `there is no option ${unknown}${guess(unknown, known)}` : message)
  }
}

function guess(typed: string, known: readonly string[]): string {
  const meant = nearest(typed, known)
  return meant === undefined ? `: there are ${known.join(', ')}` : `, did you mean ${meant}?`
}

function readNumber(modifier: string, text: string): number {
  if (/^[1-9]\d{0,11}$/.test(text)) return Number(text)
  throw new Misuse(`--${modifier} takes a whole number from 1 on, not "${text}"`)
}

function helpOn(benches: Benches): string {
  const shapes = Object.entries(SHAPES).map(([name, { description }]) => [name, description] as const)
  const modifiers = [
    ...Object.entries(MODIFIERS).map(([name, { about, usual }]) => {
      const number = usual === 0 ? '' : ` (${usual.toLocaleString('en')})`
      return [`--${name} N`, `${about}${number}`] as const
    }),
    ['--postgres', 'on PostgreSQL instead of SQLite'] as const,
    ['--shape NAME', 'what deliveries look like; stream unless given'] as const,
  ]
  return `Usage: npm run bench -- [NAME] [OPTIONS]

Measures one thing, ${USUAL_NAME} unless named:

${Object.entries(benches).map(benchHelp).join('\n')}

What changes it, each where the list above names it, with the usual number unless that list has another:

${listed(modifiers)}

Shapes:

${listed(shapes)}

--json prints one JSON value (npm run -s bench -- NAME --json). --help shows this help.

For example: npm run bench -- read --most 100000, npm run bench -- tail --postgres --rate 5000`
}

function benchHelp([name, { about, minutes, gigabytes, heeds }]: readonly [string, Bench]): string {
  const own = Object.entries(heeds).map(
    ([modifier, usual]) => `--${modifier}${typeof usual === 'number' ? ` (${usual.toLocaleString('en')})` : ''}`,
  )
  return `  ${name.padEnd(12)}${about}\n${' '.repeat(14)}${minutes} min, ${gigabytes} GB; ${own.join(' ')}`
}

const listed = (rows: readonly (readonly [string, string])[]): string =>
  rows.map(([name, about]) => `  ${name.padEnd(18)}${about}`).join('\n')
