import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { written } from '../support/docs/contract.ts'
import { tempFolder } from '../support/temp-folder.ts'

const root = resolve(import.meta.dirname, '../..')
const hook = join(root, 'test/support/docs/generators-typescript.ts')
const names = Object.keys(parse(written).components.schemas)

/** Runs a program of node_modules in a folder; returns what it printed if it failed. */
function run(cwd: string, program: string, ...args: readonly string[]): string {
  const command = ['--import', hook, join(root, 'node_modules', program), ...args]
  const { status, stdout, stderr } = spawnSync(process.execPath, command, { cwd, encoding: 'utf8' })
  return status === 0 ? '' : `${program}: ${stdout}${stderr}`
}

/** Generates a client into a folder, and compiles a program that uses it; returns what went wrong. */
function compiled(generator: readonly [program: string, ...args: string[]], program: string): string {
  const folder = tempFolder()
  const [name, ...args] = generator
  const failure = run(folder, name, ...args)
  writeFileSync(join(folder, 'program.ts'), program)
  const settings = {
    strict: true,
    noEmit: true,
    module: 'nodenext',
    target: 'esnext',
    allowImportingTsExtensions: true,
  }
  const compilerOptions = { ...settings, lib: ['esnext', 'dom', 'dom.iterable'], types: [] }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['.'] }))
  return failure || run(folder, 'typescript/bin/tsc')
}

it('a client by openapi-typescript has every named schema as a type, and compiles under strict', () => {
  const program = `
    import type { components, paths, webhooks } from './api.ts'
    type Schemas = components['schemas']
    type Page = paths['/Purchase/list']['get']['responses']['200']['content']['application/json']['data']
    type Message = webhooks['message']['post']['requestBody']['content']['application/json']
    export const received = (message: Message): string =>
      message.type === 'delivery.received' ? message.data.ReceiptID : message.timestamp
    export const orders = (page: Page): Schemas['Order'][] => page.Orders
    export const order = ({ OrderID }: Schemas['Delivery']): string => OrderID ?? 'none'
    // @ts-expect-error A receipt is text, not a number.
    export const receipt = ({ ReceiptID }: Schemas['Delivery']): number => ReceiptID
    // @ts-expect-error A delivery may have no order.
    export const some = ({ OrderID }: Schemas['Delivery']): string => OrderID
    export type All = [${names.map((name) => `Schemas['${name}']`)}]`
  expect(compiled(['openapi-typescript/bin/cli.js', join(root, 'openapi.yaml'), '-o', 'api.ts'], program)).toBe('')
})

it('a client by @hey-api/openapi-ts has every named schema as a type, and compiles under strict', () => {
  const program = `
    import { type Order, purchaseDelivery, purchaseList } from './api/index.ts'
    import type * as types from './api/index.ts'
    export const orders = async (): Promise<Order[]> =>
      (await purchaseList({ query: { status: 3 }, throwOnError: true })).data.data.Orders
    export const delivery = async (receiptId: string): Promise<types.Delivery | undefined> =>
      (await purchaseDelivery({ path: { receiptId } })).data?.data
    // @ts-expect-error A receipt is text, not a number.
    export const receipt = ({ ReceiptID }: types.Delivery): number => ReceiptID
    // @ts-expect-error Which delivery?
    export const missing = () => purchaseDelivery({})
    export type All = [${names.map((name) => `types.${name}`)}]`
  const args = ['-i', join(root, 'openapi.yaml'), '-o', 'api', '--no-log-file']
  expect(compiled(['@hey-api/openapi-ts/dist/run.mjs', ...args], program)).toBe('')
})
