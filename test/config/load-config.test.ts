import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { describeConfig } from '#src/config/describe-config.ts'
import { readEnvFile } from '#src/config/env-file.ts'
import { ConfigError, loadConfig, type Variables } from '#src/config/load-config.ts'
import { maskUrlPassword, settings } from '#src/config/settings.ts'
import { tempFolder } from '../support/temp-folder.ts'

const problemsOf = (environment: Variables, file: Variables = {}): readonly string[] => {
  try {
    loadConfig(environment, file)
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
  return []
}

describe('settings', () => {
  it('have the documented defaults', () => {
    expect(loadConfig({}).config).toMatchObject({
      port: 3000,
      host: '127.0.0.1',
      databaseUrl: 'sqlite:./data/teslim.db',
      fieldCase: 'any',
      loginEmailField: 'Email',
      loginAuthorization: 'reject',
      loginAnswer: 'contract',
      tokenTtlSeconds: 3600,
      tokenAlgorithm: 'ES256',
      bodyLimitBytes: 1_048_576,
    })
  })

  it('come from the environment before the .env file, and an empty value counts as not set', () => {
    const { config, sources } = loadConfig({ PORT: '4000', HOST: '' }, { PORT: '5000', HOST: '::1', LOG_LEVEL: 'warn' })
    expect(config).toMatchObject({ port: 4000, host: '::1', logLevel: 'warn' })
    expect(sources).toMatchObject({ port: 'environment', host: '.env', logLevel: '.env', fieldCase: 'default' })
  })

  it('are frozen', () => {
    expect(Object.isFrozen(loadConfig({}).config)).toBe(true)
  })

  it('are all checked before anything is said, each with what is allowed', () => {
    expect(
      problemsOf({ PORT: '70000', TESLIM_TOKEN_TTL: 'soon', TESLIM_FIELD_CASE: 'Any', TESLIM_TOKEN_TLT: '1' }),
    ).toEqual([
      'TESLIM_TOKEN_TLT: there is no such setting (found in the environment), did you mean TESLIM_TOKEN_TTL?',
      'PORT: "70000" is not allowed, it must be a whole number from 0 to 65535',
      'TESLIM_FIELD_CASE: "Any" is not allowed, it must be one of any, exact',
      'TESLIM_TOKEN_TTL: "soon" is not allowed, it must be a whole number from 1 to 31536000',
    ])
  })

  it('of an unknown name are refused in the .env file too', () => {
    expect(problemsOf({}, { TESLIM_PORT: '1' })).toEqual([
      expect.stringMatching(/^TESLIM_PORT: there is no such setting \(found in the \.env file\)/),
    ])
  })

  it.each(['1e3', '0x10', '+1', ' 1', '1 ', '1.0', '-0', '१', '9'.repeat(40)])(
    'take no number written as %j',
    (port) => {
      if (port === '-0') expect(loadConfig({ PORT: port }).config.port).toBeCloseTo(0)
      else expect(problemsOf({ PORT: port })).toHaveLength(1)
    },
  )

  it.each(['password', 'PASSWORD', 'callbackdata', '', 'a b', '"', '__proto__'])(
    'take no e-mail field called %j',
    (name) => {
      if (name === '') expect(loadConfig({ TESLIM_LOGIN_EMAIL_FIELD: name }).config.loginEmailField).toBe('Email')
      else expect(problemsOf({ TESLIM_LOGIN_EMAIL_FIELD: name })).toHaveLength(1)
    },
  )

  it('either load or give a reason, whatever the values', () => {
    const names = Object.values(settings).map(({ variable }) => variable)
    const environment = fc.dictionary(fc.constantFrom(...names), fc.string({ unit: 'binary' }))
    fc.assert(
      fc.property(environment, (variables) => {
        const problems = problemsOf(variables)
        for (const problem of problems) expect(problem).toMatch(/^[A-Z_]+: .+ is not allowed, it must be .+/s)
      }),
    )
  })

  it('never show the password of the database', () => {
    expect(maskUrlPassword('postgres://u:p%40ss@db:5432/x?sslmode=require')).toBe(
      'postgres://u:***@db:5432/x?sslmode=require',
    )
    expect(maskUrlPassword('postgres://db/x?user=u&password=geheim&a=1')).toBe(
      'postgres://db/x?user=u&password=***&a=1',
    )
    const described = describeConfig(loadConfig({ DATABASE_URL: 'sqlite:./x?password=geheim' }))
    expect(JSON.stringify(described)).not.toContain('geheim')
    expect(problemsOf({ DATABASE_URL: 'mysql://u:geheim@db/x' }).join()).not.toContain('geheim')
  })

  it('are described one by one with value and source', () => {
    const described = describeConfig(loadConfig({ PORT: '0' }))
    expect(described).toHaveLength(Object.keys(settings).length)
    expect(described[0]).toMatchObject({ variable: 'PORT', value: 0, source: 'environment', default: 3000 })
    for (const { about } of described) expect(about).not.toBe('')
  })
})

describe('the .env file', () => {
  const folder = tempFolder()

  it('may be missing', () => {
    expect(readEnvFile(join(folder, 'none'))).toEqual({})
  })

  it('is read with quotes and comments', () => {
    writeFileSync(join(folder, '.env'), '# ours\nPORT=4000 # free\nTESLIM_TOKEN_ISSUER="a b"\n')
    expect(readEnvFile(join(folder, '.env'))).toEqual({ PORT: '4000', TESLIM_TOKEN_ISSUER: 'a b' })
  })

  it('that cannot be read is an error', () => {
    mkdirSync(join(folder, 'dir'))
    expect(() => readEnvFile(join(folder, 'dir'))).toThrow(ConfigError)
  })
})
