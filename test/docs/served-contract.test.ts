import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parse, stringify } from 'yaml'
import { loadConfig } from '#src/config/load-config.ts'
import { asYaml, EMAIL_FIELD_STAND_IN, servedContract } from '#src/docs/served-contract.ts'
import { contract, toYaml } from '../../tools/contract.ts'
import { pageJson } from '../../tools/contract-page.ts'
import { inlined } from '../support/contract.ts'
import { testApp } from '../support/test-app.ts'

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8')
const ANSWERS = ['contract', 'camel', 'both']
const BEARERS = ['optional', 'required', 'ignored']
/** What fits on a line must not depend on the length of the name. */
const EMAIL_FIELDS = ['Email', `user.Name${'e'.repeat(55)}`, 'on']
/** Every two values of two settings are together in one of them. */
const combinations = ANSWERS.flatMap((TESLIM_LOGIN_ANSWER, answer) =>
  BEARERS.map((TESLIM_PURCHASE_BEARER, bearer) => ({
    TESLIM_LOGIN_ANSWER,
    TESLIM_PURCHASE_BEARER,
    TESLIM_LOGIN_EMAIL_FIELD: EMAIL_FIELDS[(answer + bearer) % EMAIL_FIELDS.length] as string,
  })),
)

describe('the contract that is served', () => {
  it('knows what the page shows by default', async () => {
    expect(read('../../src/docs/page/reference.json'), 'run npm run openapi').toBe(pageJson(await contract()))
  })

  it.each(combinations)(
    'is what the generator writes with %j, as YAML and as the data of the page',
    async (settings) => {
      const { app } = await testApp(settings)
      const document = await contract(settings)
      const [yaml, json] = [await app.inject('/openapi.yaml'), await app.inject('/docs/reference.json')]
      expect(yaml.payload, 'run npm run openapi').toBe(toYaml(document))
      expect(inlined(parse(yaml.payload)), 'without names').toEqual(document)
      expect(json.payload, 'run npm run openapi').toBe(JSON.stringify(JSON.parse(pageJson(document))))
    },
  )

  it('takes any name for the e-mail field that the setting allows', () => {
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
          asYaml,
        )
        expect(`${served}\n`).toBe(stringify({ [field]: 1 }, { compat: 'yaml-1.1' }))
        expect(parse(served)).toEqual({ [field]: 1 })
      }),
    )
  })
})
