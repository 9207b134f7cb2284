import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parse, stringify } from 'yaml'
import { loadConfig } from '#src/config/load-config.ts'
import { EMAIL_FIELD_STAND_IN, servedContract } from '#src/docs/served-contract.ts'
import { contract, toYaml } from '../../tools/contract.ts'
import { contractVariants } from '../../tools/contract-variants.ts'
import { written } from '../support/contract.ts'
import { testApp } from '../support/test-app.ts'

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8')
const variants = JSON.parse(read('../../src/docs/contract-variants.json'))

const ANSWERS = ['contract', 'camel', 'both']
const BEARERS = ['optional', 'required', 'ignored']
const combinations = ANSWERS.flatMap((TESLIM_LOGIN_ANSWER, index) =>
  BEARERS.map((TESLIM_PURCHASE_BEARER) => ({
    TESLIM_LOGIN_ANSWER,
    TESLIM_PURCHASE_BEARER,
    TESLIM_LOGIN_EMAIL_FIELD: ['Email', 'user.Name', 'on'][index] as string,
  })),
)

describe('the contract that is served', () => {
  it('knows what each setting changes in openapi.yaml', async () => {
    expect(variants, 'run npm run openapi').toEqual(await contractVariants(written))
  })

  it.each(combinations)('is what the generator writes with %j', async (settings) => {
    const { app } = await testApp(settings)
    const { payload } = await app.inject('/openapi.yaml')
    expect(payload).toBe(toYaml(await contract(settings)))
  })

  it('names the e-mail field by any name that the setting may have', () => {
    const name = fc.oneof(
      fc.constantFrom('y', 'N', 'No', 'TRUE', 'False', 'null', 'Off', 'e1', 'x-', 'a.b', 'NaN', 'Infinity'),
      fc.stringMatching(/^[A-Za-z][A-Za-z0-9_.-]{0,63}$/),
    )
    const change = { from: 0, count: 1, lines: [`${EMAIL_FIELD_STAND_IN}: 1`] }
    fc.assert(
      fc.property(name, (field) => {
        fc.pre(!/^(?:email|password|callbackdata)$/i.test(field))
        const { config } = loadConfig({ TESLIM_LOGIN_EMAIL_FIELD: field })
        const served = servedContract(
          'Email: 1',
          { [`TESLIM_LOGIN_EMAIL_FIELD=${EMAIL_FIELD_STAND_IN}`]: [change] },
          config,
        )
        expect(`${served}\n`).toBe(stringify({ [field]: 1 }, { compat: 'yaml-1.1' }))
        expect(parse(served)).toEqual({ [field]: 1 })
      }),
    )
  })
})
