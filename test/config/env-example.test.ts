import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { expect, it } from 'vitest'
import { describeConfig } from '#src/config/describe-config.ts'
import { readEnvFile } from '#src/config/env-file.ts'
import { loadConfig } from '#src/config/load-config.ts'

const url = new URL('../../.env.example', import.meta.url)
const [, defaults = '', production = '', examples = ''] = readFileSync(url, 'utf8').split('\n\n')
const uncommented = (part: string) => parseEnv(part.replaceAll(/^#(?=\S)/gm, ''))
const settingsIn = ({ sources }: ReturnType<typeof loadConfig>) =>
  Object.values(sources).filter((source) => source === '.env')

it('.env.example as it is sets nothing', () => {
  expect(readEnvFile(url.pathname)).toEqual({})
})

it('.env.example shows defaults as the code has them', () => {
  const written = uncommented(defaults)
  const known = new Map(describeConfig(loadConfig({})).map((each) => [each.variable, String(each.default)]))
  expect(Object.keys(written).length).toBeGreaterThan(10)
  expect(written).toEqual(Object.fromEntries(Object.keys(written).map((name) => [name, known.get(name)])))
})

it('.env.example shows other values that the server takes', () => {
  const written = uncommented(`${production}\n${examples}`)
  const loaded = loadConfig({}, written)
  const { OTEL_EXPORTER_OTLP_ENDPOINT, ...ours } = written
  expect(OTEL_EXPORTER_OTLP_ENDPOINT).toBeDefined()
  expect(settingsIn(loaded)).toHaveLength(Object.keys(ours).length)
  expect(Object.keys(ours).length).toBeGreaterThan(8)
})
