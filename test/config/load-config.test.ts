import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { describeConfig } from '#src/config/describe-config.ts'
import { readEnvFile } from '#src/config/env-file.ts'
import { ConfigError, loadConfig, type Variables } from '#src/config/load-config.ts'
import { maskUrlPassword } from '#src/config/setting-kinds.ts'
import { settings } from '#src/config/settings.ts'
import { anyText } from '../support/any-text.ts'
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

interface ServicePort {
  readonly name: string
  readonly protocol: string
  readonly port: number
}

/** The variables of a Service as the kubelet makes them (pkg/kubelet/envvars). */
function serviceLinks(service: string, address: string, ports: readonly ServicePort[]): Record<string, string> {
  const upper = (name: string): string => name.toUpperCase().replaceAll('-', '_')
  const prefix = upper(service)
  const url = ({ protocol, port }: ServicePort): string =>
    `${protocol.toLowerCase()}://${isIP(address) === 6 ? `[${address}]` : address}:${port}`
  const [first] = ports
  if (first === undefined) throw new Error('a Service has a port')
  return {
    [`${prefix}_SERVICE_HOST`]: address,
    [`${prefix}_SERVICE_PORT`]: String(first.port),
    ...Object.fromEntries(
      ports.filter(({ name }) => name).map(({ name, port }) => [`${prefix}_SERVICE_PORT_${upper(name)}`, String(port)]),
    ),
    [`${prefix}_PORT`]: url(first),
    ...Object.fromEntries(
      ports.flatMap((each) => {
        const one = `${prefix}_PORT_${each.port}_${each.protocol}`
        return [
          [one, url(each)],
          [`${one}_PROTO`, each.protocol.toLowerCase()],
          [`${one}_PORT`, String(each.port)],
          [`${one}_ADDR`, address],
        ]
      }),
    ),
  }
}

describe('settings', () => {
  const secrets = tempFolder()

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

  it.each([
    ['shop.example', ['shop.example']],
    ['Intern, 10.0.0.0/8 ,fd00::/8', ['intern', '10.0.0.0/8', 'fd00::/8']],
    ['localhost,localhost,127.0.0.1,::1', ['localhost', '127.0.0.1', '::1']],
    ['FD00:0:0:0::/8,::ffff:10.0.0.0/104', ['fd00::/8', '10.0.0.0/8']],
    ['under_score.xn--mnze-0ra.example', ['under_score.xn--mnze-0ra.example']],
    ['Intern:8080,127.0.0.1:65535', ['intern:8080', '127.0.0.1:65535']],
    ['10.0.0.0/8:443,[FD00:0::/8]:8443,[::1]:1,[::1]', ['10.0.0.0/8:443', '[fd00::/8]:8443', '[::1]:1', '::1']],
  ])('take TESLIM_WEBHOOK_ALLOW=%s', (written, read) => {
    expect(loadConfig({ TESLIM_WEBHOOK_ALLOW: written }).config.webhookAllow).toEqual(read)
  })

  it.each([
    '*',
    '*.example',
    '.example',
    'shop.example.',
    'shop.example:0',
    'shop.example:0443',
    'shop.example:65536',
    'shop.example:*',
    'shop.example:',
    ':443',
    '[shop.example]:443',
    '[10.0.0.1]:443',
    '[]:443',
    'fd00::/8:8443',
    'shop.example 10.0.0.1',
    'https://shop.example',
    'shop.example/path',
    'shop.example,',
    ',',
    'münze.example',
    '10.0.0.1/8',
    '10.0.0.0/08',
    '10.0.0.0/33',
    '0.0.0.0/0',
    '::/0',
    '10.1',
    '2130706433',
    '0x7f.0.0.1',
    'fe80::1%eth0',
  ])('take no TESLIM_WEBHOOK_ALLOW=%s', (written) => {
    expect(problemsOf({ TESLIM_WEBHOOK_ALLOW: written })).toEqual([
      expect.stringMatching(
        /^TESLIM_WEBHOOK_ALLOW: ".*" is not allowed, it must be hosts and networks, .*; ".*" is neither/,
      ),
    ])
  })

  it('say which item of TESLIM_WEBHOOK_ALLOW is wrong, and how it is written', () => {
    const allowed =
      'it must be hosts and networks, each with a port or without, such as backoffice.internal:8443,10.0.0.0/8,[::1]:8080'
    expect(problemsOf({ TESLIM_WEBHOOK_ALLOW: 'intern, http://[::1]:8080/hook,*' })).toEqual([
      `TESLIM_WEBHOOK_ALLOW: "intern, http://[::1]:8080/hook,*" is not allowed, ${allowed}; " http://[::1]:8080/hook" is neither, did you mean [::1]:8080?`,
    ])
    expect(problemsOf({ TESLIM_WEBHOOK_ALLOW: 'intern:0' })).toEqual([
      `TESLIM_WEBHOOK_ALLOW: "intern:0" is not allowed, ${allowed}; "intern:0" is neither`,
    ])
  })

  it('are frozen', () => {
    expect(Object.isFrozen(loadConfig({}).config)).toBe(true)
  })

  it('are all checked at once, and each error says what is allowed', () => {
    expect(
      problemsOf({ PORT: '70000', TESLIM_TOKEN_TTL: 'soon', TESLIM_FIELD_CASE: 'Any', TESLIM_TOKEN_TLT: '1' }),
    ).toEqual([
      'TESLIM_TOKEN_TLT: there is no such setting (found in the environment), did you mean TESLIM_TOKEN_TTL?',
      'PORT: "70000" is not allowed, it must be a whole number from 0 to 65535',
      'TESLIM_FIELD_CASE: "Any" is not allowed, it must be one of any, exact; did you mean any?',
      'TESLIM_TOKEN_TTL: "soon" is not allowed, it must be a whole number from 1 to 31536000',
    ])
  })

  it.each(['staging', 'prod', 'dev', 'Test 2', ' '])('take NODE_ENV=%j as production, and say so', (NODE_ENV) => {
    const { config, notes } = loadConfig({ NODE_ENV })
    expect([config.environment, notes]).toEqual([
      'production',
      [`NODE_ENV: ${JSON.stringify(NODE_ENV)} counts as production`],
    ])
  })

  it.each([
    ['production', 'production'],
    ['PRODUCTION', 'production'],
    ['Development', 'development'],
    ['test', 'test'],
  ])('take NODE_ENV=%s as %s', (NODE_ENV, environment) => {
    expect(loadConfig({ NODE_ENV })).toMatchObject({ config: { environment }, notes: [] })
  })

  it.each([
    ['WARN', 'warn'],
    ['Warning', 'warn'],
    ['warning', 'warn'],
    ['Info', 'info'],
    ['TRACE', 'trace'],
  ])('take LOG_LEVEL=%s as %s', (LOG_LEVEL, logLevel) => {
    expect(loadConfig({ LOG_LEVEL })).toMatchObject({ config: { logLevel }, notes: [] })
  })

  it.each([
    ['wrn', '; did you mean warn?'],
    // The beginning of one, further away than a slip.
    ['err', '; did you mean error?'],
    ['F', '; did you mean fatal?'],
    ['verbose', ''],
  ])('take no LOG_LEVEL=%s', (LOG_LEVEL, hint) => {
    expect(problemsOf({ LOG_LEVEL })).toEqual([
      `LOG_LEVEL: "${LOG_LEVEL}" is not allowed, it must be one of info, trace, debug, warn, error, fatal, silent${hint}`,
    ])
  })

  it('take an empty NODE_ENV as not set', () => {
    expect(loadConfig({ NODE_ENV: '' }).config.environment).toBe('development')
  })

  it('of an unknown name get no suggestion for the prefix that all names have', () => {
    expect(problemsOf({ TESLIM_QQ_ZZZZ: '1' })).toEqual([
      'TESLIM_QQ_ZZZZ: there is no such setting (found in the environment)',
    ])
  })

  it('of an unknown name are refused in the .env file too', () => {
    expect(problemsOf({}, { TESLIM_PORT: '1' })).toEqual([
      'TESLIM_PORT: there is no such setting (found in the .env file), did you mean PORT?',
    ])
  })

  it.each([
    ...['HASH_CONCURRENCY', 'HASH_QUEUE', 'SIGNING_KEY_DAYS', 'REFUSED_BYTES'],
    ...['ROLL_UPS', 'QUEUE_DELIVERIES', 'QUEUE_BYTES', 'BODY_BUDGET'],
  ])('that are gone are refused: TESLIM_%s', (name) => {
    const [problem, ...others] = problemsOf({ [`TESLIM_${name}`]: '1' })
    expect([problem, others]).toEqual([expect.stringContaining(`TESLIM_${name}: there is no such setting`), []])
  })

  it.each(['teslim', 'teslim-ops'])('take nothing from the service links of a Service called %s', (service) => {
    const links = serviceLinks(service, '10.0.0.1', [{ name: 'http', protocol: 'TCP', port: 3000 }])
    expect(Object.keys(links)).toHaveLength(8)
    const { config, sources, notes } = loadConfig({ ...links, TESLIM_OPS_HOST: '::1' })
    expect(config).toEqual({ ...loadConfig({}).config, opsHost: '::1' })
    expect([sources.opsPort, sources.opsHost]).toEqual(['default', 'environment'])
    expect(notes).toEqual(
      service === 'teslim-ops'
        ? ['TESLIM_OPS_PORT: tcp://10.0.0.1:3000 is a service link of Kubernetes, not a setting: ignored']
        : [],
    )
    expect(loadConfig(links, { TESLIM_OPS_PORT: '4' }).config.opsPort).toBe(4)
  })

  it('take nothing from the service links of any Service in the namespace', () => {
    const part = fc.stringMatching(/^[a-z0-9]{1,8}$/)
    const name = fc.array(part, { maxLength: 3 }).map((parts) => ['teslim', ...parts].join('-'))
    const port = fc.record({
      name: fc.option(part, { nil: '' }),
      protocol: fc.constantFrom('TCP', 'UDP', 'SCTP'),
      port: fc.integer({ min: 1, max: 65535 }),
    })
    const address = fc.oneof(
      fc.ipV4(),
      fc.ipV6().filter((one) => !one.includes('.')),
    )
    fc.assert(
      fc.property(name, address, fc.array(port, { minLength: 1, maxLength: 4 }), (service, ip, ports) => {
        expect(loadConfig(serviceLinks(service, ip, ports)).config).toEqual(loadConfig({}).config)
      }),
    )
  })

  it('with the name of a service link and the value of a setting are still errors, and so is any other unknown name', () => {
    const link = serviceLinks('teslim', '10.0.0.1', [{ name: 'http', protocol: 'TCP', port: 3000 }])
    const value = anyText().filter(
      (text) => text !== '' && !/^(?:\d+|tcp|udp|sctp|tcp:.*)$/.test(text) && isIP(text) === 0,
    )
    fc.assert(
      fc.property(fc.constantFrom(...Object.keys(link)), value, (name, written) => {
        expect(problemsOf({ [name]: written })).toEqual([expect.stringContaining(`${name}: there is no such setting`)])
      }),
    )
    const other = fc.stringMatching(/^TESLIM_[A-Z]{1,4}X[A-Z]{0,3}$/)
    fc.assert(
      fc.property(other, fc.constantFrom(...Object.values(link)), (name, written) => {
        expect(problemsOf({ [name]: written })).toEqual([expect.stringContaining(`${name}: there is no such setting`)])
      }),
    )
    expect(problemsOf({ TESLIM_PORT: '3000', TESLIM_OPS_PROT: 'tcp://10.0.0.1:3000' })).toEqual([
      'TESLIM_PORT: there is no such setting (found in the environment), did you mean PORT?',
      'TESLIM_OPS_PROT: there is no such setting (found in the environment), did you mean TESLIM_OPS_PORT?',
    ])
    expect(problemsOf({ TESLIM_OPS_PORT: '3000/tcp' })).toHaveLength(1)
    expect(problemsOf({}, link)).toHaveLength(8)
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

  it('load or give a reason, whatever the values', () => {
    const names = Object.values(settings).map(({ variable }) => variable)
    const environment = fc.dictionary(fc.constantFrom(...names), anyText())
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

  it('take a secret from a file, without one newline at its end', () => {
    const at = (name: string, content: string | Buffer) => {
      writeFileSync(join(secrets, name), content)
      return join(secrets, name)
    }
    const read = (content: string) => loadConfig({ TESLIM_SECRET_FILE: at('secret', content) }).config.secret
    expect(read('sixteen letters!\n')).toBe('sixteen letters!')
    expect(read('sixteen letters!\r\n')).toBe('sixteen letters!')
    expect(read('two at the end: \n\n')).toBe('two at the end: \n')
    const described = describeConfig(
      loadConfig({ TESLIM_SECRET_FILE: at('secret', 'sixteen letters!'), TESLIM_SECRET_OLD: 'geheim geheim geheim' }),
    )
    expect(described.filter(({ variable }) => /^TESLIM_SECRET/.test(variable))).toMatchObject([
      { variable: 'TESLIM_SECRET', value: '***', source: 'environment', default: '' },
      { variable: 'TESLIM_SECRET_FILE', value: join(secrets, 'secret') },
      { variable: 'TESLIM_SECRET_OLD', value: '***', source: 'environment' },
      { variable: 'TESLIM_SECRET_OLD_FILE', value: '', source: 'default' },
    ])
    expect(JSON.stringify(described)).not.toMatch(/geheim|sixteen/)
  })

  it.each([
    ['is not there', 'none', undefined, /it must be a file that can be read \(ENOENT\)$/],
    ['is a folder', '.', undefined, /it must be a file that can be read \(EISDIR\)$/],
    ['is empty', 'empty', '\n', /it must be a file that holds at least 16 characters$/],
    ['is short', 'short', 'fifteen letters', /it must be a file that holds at least 16 characters$/],
    ['is no text', 'binary', Buffer.alloc(40, 0xff), /it must be a file of text: base64, for example$/],
  ])('take no secret from a file that %s', (_how, name, content, problem) => {
    if (content !== undefined) writeFileSync(join(secrets, name), content)
    expect(problemsOf({ TESLIM_SECRET_FILE: join(secrets, name) })).toEqual([expect.stringMatching(problem)])
    expect(problemsOf({ TESLIM_SECRET_OLD_FILE: join(secrets, name) })).toEqual([expect.stringMatching(problem)])
  })

  it('take a secret from one place only, never a short one, and never show it', () => {
    expect(problemsOf({ TESLIM_SECRET: 'geheim' })).toEqual([
      'TESLIM_SECRET: its value is not allowed, it must be at least 16 characters',
    ])
    expect(problemsOf({ TESLIM_SECRET: 'geheim geheim geheim', TESLIM_SECRET_FILE: 'x' })).toEqual([
      'TESLIM_SECRET_FILE: "x" is not allowed, it must be left out where TESLIM_SECRET is set',
    ])
  })

  it('come with the variables of proxies, in capital or in small letters', () => {
    const environment = { HTTPS_PROXY: 'http://proxy.example:3128', no_proxy: 'internal', NO_PROXY: '' }
    const { proxyVariables, config } = loadConfig(environment, { http_proxy: 'http://other.example', OTHER: 'x' })
    const given = Object.entries(proxyVariables ?? {}).filter(([, value]) => value)
    expect(Object.fromEntries(given)).toEqual({
      HTTPS_PROXY: 'http://proxy.example:3128',
      http_proxy: 'http://other.example',
      no_proxy: 'internal',
    })
    expect(JSON.stringify(config)).not.toContain('proxy.example')
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

  const isRoot = process.geteuid?.() === 0
  if (!isRoot) console.log('a .env file of another user is not tested: only root can make one')
  it.runIf(isRoot).each([
    [65_534, 0, 0o644, `settings are not taken from a file of nobody: run teslim as that user, or make the file yours`],
    [0, 0, 0o646, 'others may write to it: take that right away (chmod go-w)'],
    [0, 65_534, 0o664, 'others may write to it: take that right away (chmod go-w)'],
    [0, 0, 0o664, undefined],
    [0, 65_534, 0o644, undefined],
  ])('of user %i and group %i with mode %i is taken only from whom it may come', (uid, gid, mode, why) => {
    const path = join(folder, 'planted.env')
    writeFileSync(path, 'PORT=4000\n')
    chownSync(path, uid, gid)
    chmodSync(path, mode)
    if (why === undefined) expect(readEnvFile(path)).toEqual({ PORT: '4000' })
    else expect(() => readEnvFile(path)).toThrow(new ConfigError([`${path}: ${why}`]))
  })

  it('that cannot be read is an error', () => {
    mkdirSync(join(folder, 'dir'))
    expect(() => readEnvFile(join(folder, 'dir'))).toThrow(ConfigError)
  })
})
