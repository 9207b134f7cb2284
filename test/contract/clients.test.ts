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

it('clients by openapi-typescript and @hey-api/openapi-ts have every named schema as a type, and compile under strict', () => {
  const folder = tempFolder()
  const contract = join(root, 'openapi.yaml')
  const generated = [
    run(folder, 'openapi-typescript/bin/cli.js', contract, '-o', 'one.ts'),
    run(folder, '@hey-api/openapi-ts/dist/run.mjs', '-i', contract, '-o', 'other', '--no-log-file'),
  ]
  expect(generated).toEqual(['', ''])
  const programs = {
    'by-one.ts': `
    import type { components, paths, webhooks } from './one.ts'
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
    export type All = [${names.map((name) => `Schemas['${name}']`)}]`,
    'by-other.ts': `
    import { type Order, purchaseDelivery, purchaseList } from './other/index.ts'
    import type * as types from './other/index.ts'
    export const orders = async (): Promise<Order[]> =>
      (await purchaseList({ query: { status: 3 }, throwOnError: true })).data.data.Orders
    export const delivery = async (receiptId: string): Promise<types.Delivery | undefined> =>
      (await purchaseDelivery({ path: { receiptId } })).data?.data
    // @ts-expect-error A receipt is text, not a number.
    export const receipt = ({ ReceiptID }: types.Delivery): number => ReceiptID
    // @ts-expect-error Which delivery?
    export const missing = () => purchaseDelivery({})
    export type All = [${names.map((name) => `types.${name}`)}]`,
  }
  for (const [name, program] of Object.entries(programs)) writeFileSync(join(folder, name), program)
  const settings = {
    strict: true,
    noEmit: true,
    module: 'nodenext',
    target: 'esnext',
    allowImportingTsExtensions: true,
  }
  const compilerOptions = { ...settings, lib: ['esnext', 'dom', 'dom.iterable'], types: [] }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['.'] }))
  expect(run(folder, 'typescript/bin/tsc')).toBe('')
})
