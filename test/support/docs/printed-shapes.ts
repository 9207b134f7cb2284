import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { parse } from 'yaml'
import { beforeDashes, findCommand } from '#src/cli/find-command.ts'
import { readJsonShapes } from '../../../tools/json-shapes.ts'
import type { Outcome } from '../processes/process.ts'
import { closed, written } from './contract.ts'

type Schema = Readonly<Record<string, unknown>>

const shapes = readJsonShapes()
const named: Readonly<Record<string, Schema>> = parse(written).components.schemas
const ajv = addFormats.default(new Ajv2020({ strict: false }))
const checks = new Map<string, ValidateFunction>()

/** Commands whose output was compared with docs/json.md. */
export const compared = new Set<string>()

/** Types that are defined in docs/json.md although openapi.yaml has one of that name. */
export const definedTwice = [...shapes.types.keys()].filter((name) => name in named)

/** Puts named schemas where they are used, and makes one object of the parts of an `allOf`. */
function whole(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(whole)
  if (typeof part !== 'object' || part === null) return part
  const { $ref, allOf, ...others } = part as Schema
  if (typeof $ref === 'string') return whole(named[$ref.split('/').at(-1) ?? ''] ?? { not: {} })
  const entries = Object.entries(others).map(([key, value]) => [key, whole(value)])
  if (!Array.isArray(allOf)) return Object.fromEntries(entries)
  const parts = allOf.map(whole) as { required?: string[]; properties: object }[]
  return {
    type: 'object',
    required: parts.flatMap(({ required = [] }) => required),
    properties: Object.assign({}, ...parts.map(({ properties }) => properties)),
  }
}

/** A field that is not on the page is a violation. */
function checkOf(type: string): ValidateFunction {
  const check = checks.get(type) ?? ajv.compile(closed(whole(shapes.schemaOf(type))))
  checks.set(type, check)
  return check
}

/** What is wrong with a value by docs/json.md. */
export function shapeViolation(type: string, value: unknown): string | undefined {
  const check = checkOf(type)
  if (check(value)) return undefined
  const problems = check.errors?.map(({ instancePath, message, params }) => [instancePath, message, params])
  return `${type}: ${JSON.stringify(value)} ${JSON.stringify(problems)}`
}

const HELP = /^(?:--help|-h|--payload)$/

/** What is wrong with the output of a command by docs/json.md, if it was run with --json. */
export async function printedViolation(args: readonly string[], outcome: Outcome): Promise<string | undefined> {
  const words = beforeDashes(args)
  const name = (await findCommand(args).catch(() => undefined))?.command.name
  if (name === 'complete' || words.some((word) => HELP.test(word))) return undefined
  const { type, isLines } = shapes.commands.get(name ?? '') ?? {}
  if (!words.includes('--json') && name !== 'delivery export') return undefined
  const said = outcome.stdout.split('\n').slice(0, -1)
  if (said.length === 0 && outcome.status !== 0 && words.includes('--json'))
    return violationIn('Fault', outcome.stderr.trimEnd().split('\n').at(-1) ?? '')
  if (name !== undefined) compared.add(name)
  if (type === undefined) return said.length > 0 && name !== undefined ? `${name} prints ${outcome.stdout}` : undefined
  if (!isLines && said.length !== 1) return `${name} prints ${said.length} lines: ${outcome.stdout}`
  return said.map((line) => violationIn(type, line)).find((violation) => violation !== undefined)
}

function violationIn(type: string, line: string): string | undefined {
  try {
    return shapeViolation(type, JSON.parse(line))
  } catch (error) {
    return `${type}: ${line} ${error}`
  }
}
