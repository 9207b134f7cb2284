import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { loadConfig } from '#src/config/load-config.ts'
import { settingProblems } from '../support/app/setting-problems.ts'
import { tempFolder } from '../support/temp-folder.ts'

const folder = new URL('../../deploy/', import.meta.url)
const text = readFileSync(new URL('compose.yaml', folder), 'utf8')
const { services, networks, volumes, secrets } = parse(text, { merge: true })
const { teslim, replica, balancer, postgres, prometheus, grafana } = services
const readme = readFileSync(new URL('README.md', folder), 'utf8')
const { version } = JSON.parse(readFileSync(new URL('../package.json', folder), 'utf8'))

describe('compose.yaml', () => {
  it('starts one service by default, and the replicas and the monitoring in profiles of their own', () => {
    const profiles = Object.entries<{ profiles?: string[] }>(services).map(([name, { profiles }]) => [name, profiles])
    expect(profiles.filter(([, own]) => own === undefined).map(([name]) => name)).toEqual(['teslim'])
    for (const profile of ['replicas', 'monitoring']) expect(readme).toContain(`--profile ${profile}`)
  })

  it.each(Object.keys(services))('disarms, limits and restarts %s', (name) => {
    expect(services[name]).toMatchObject({
      restart: 'unless-stopped',
      read_only: true,
      tmpfs: expect.arrayContaining(['/tmp']),
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      cpus: expect.any(Number),
      mem_limit: expect.stringMatching(/^\d+[mg]$/),
      pids_limit: expect.any(Number),
    })
    expect(services[name]).not.toHaveProperty('cap_add')
    expect(services[name]).not.toHaveProperty('privileged')
  })

  it('pins images to a minor version, and ours to the version of this repository', () => {
    const images = [teslim, replica, balancer, postgres, prometheus, grafana].map(({ image }) => image)
    expect(images.slice(0, 2)).toEqual([`teslim:${version}`, `teslim:${version}`])
    for (const image of images) expect(image).toMatch(/:v?\d+\.\d+/)
    const dockerfile = readFileSync(new URL('../Dockerfile', folder), 'utf8')
    const [, base] = /^FROM (node:\d+\.\d+-slim)$/m.exec(dockerfile) ?? []
    expect(dockerfile).toContain(`base.name="docker.io/library/${base}"`)
    expect(dockerfile).toContain(`image.version="${version}"`)
    expect(dockerfile).toContain('NODE_ENV=production')
  })

  it('runs images of others as users other than root, with health checks', () => {
    const foreign = [balancer, postgres, prometheus, grafana]
    for (const { user, healthcheck } of foreign)
      expect([user, healthcheck.test[0]]).toEqual([expect.not.stringMatching(/^(root|0)\b/), 'CMD'])
    // The image of teslim has both.
    for (const service of [teslim, replica]) {
      expect(service).not.toHaveProperty('user')
      expect(service).not.toHaveProperty('healthcheck')
    }
  })

  it('names settings that exist, with values that are allowed, and needs the secret', () => {
    const secret = join(tempFolder(), 'secret')
    for (const { environment } of [teslim, replica]) {
      expect(environment.TESLIM_SECRET_FILE).toBe('/run/secrets/teslim-secret')
      const problems = () => settingProblems({ ...environment, TESLIM_SECRET_FILE: secret })
      writeFileSync(secret, '')
      expect(problems()).toEqual([
        expect.stringMatching(/^TESLIM_SECRET_FILE: .*a file that holds at least 16 characters$/),
      ])
      writeFileSync(secret, 'bm90IGEgc2VjcmV0IGF0IGFsbA==\n')
      expect(problems()).toEqual([])
    }
    for (const service of [teslim, replica])
      expect(Number.parseInt(service.stop_grace_period, 10)).toBeGreaterThan(loadConfig({}).config.shutdownSeconds)
  })

  it('trusts only the balancer to say which client a request came from', () => {
    const { ipv4_address: address } = balancer.networks.front
    expect(replica.environment.TESLIM_TRUST_PROXY).toBe(address)
    const [{ subnet, ip_range: range }] = networks.front.ipam.config
    const lastPart = Number(address.split('.')[3])
    expect([subnet, range]).toEqual([`${address.replace(/\d+$/, '0')}/24`, `${address.replace(/\d+$/, '128')}/25`])
    expect(lastPart).toBeGreaterThan(1)
    expect(lastPart).toBeLessThan(128)
  })

  it('contains no secret: secrets come from files, and the one of the replicas names the store', () => {
    expect(text).not.toMatch(/postgres:\/\/|PASSWORD: /)
    for (const [name, secret] of Object.entries(secrets)) {
      expect(secret).toEqual({ file: `./secrets/${name}` })
      expect(readme, name).toContain(`> secrets/${name}`)
    }
    expect(postgres.environment.POSTGRES_PASSWORD_FILE).toBe('/run/secrets/postgres-password')
    const ignored = readFileSync(new URL('../.gitignore', folder), 'utf8').split('\n')
    expect(ignored).toContain('deploy/secrets/')
    const [, line = ''] = /printf '(DATABASE_URL=.*)\\n'/.exec(readme) ?? []
    const environment = { DATABASE_URL: replica.environment.DATABASE_URL }
    const { config, sources } = loadConfig(environment, parseEnv(line.replace('%s', 'x')))
    expect([config.databaseUrl, sources.databaseUrl]).toEqual(['postgres://teslim:x@postgres/teslim', '.env'])
  })

  it('publishes on this machine only, and lets only the replicas reach the database', () => {
    for (const { ports = [] } of Object.values<{ ports?: string[] }>(services))
      for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/)
    expect([replica.ports, postgres.ports]).toEqual([undefined, undefined])
    expect(networks.back.internal).toBe(true)
    expect(postgres.networks).toEqual(['back'])
    expect(Object.keys(balancer.networks)).toEqual(['front'])
  })

  it('mounts only volumes that it declares and files that exist', () => {
    for (const { volumes: mounted = [] } of Object.values<{ volumes?: string[] }>(services))
      for (const [source = '', , mode] of mounted.map((one: string) => one.split(':'))) {
        if (!source.startsWith('./')) expect(Object.keys(volumes)).toContain(source)
        else expect([existsSync(new URL(source, folder)), mode], source).toEqual([true, 'ro'])
      }
  })

  it('lets Prometheus reach the metrics of every server, and publishes them nowhere', () => {
    const { opsPort } = loadConfig({}).config
    for (const { environment, ports = [] } of [teslim, replica]) {
      expect(environment.TESLIM_OPS_HOST).toBe('0.0.0.0')
      expect(ports.join()).not.toContain(String(opsPort))
    }
    const { scrape_configs: jobs, rule_files: rules } = parse(
      readFileSync(new URL('prometheus/prometheus.yml', folder), 'utf8'),
    )
    expect(jobs).toMatchObject([
      { job_name: 'teslim', dns_sd_configs: [{ names: ['teslim', 'replica'], port: opsPort }] },
    ])
    expect([rules, prometheus.networks]).toEqual([['alerts.yml'], ['default', 'front']])
  })

  it('lets nobody log in to Grafana, which has its data source and the dashboard from files', () => {
    expect(grafana.environment).toMatchObject({
      GF_AUTH_ANONYMOUS_ORG_ROLE: 'Viewer',
      GF_AUTH_BASIC_ENABLED: 'false',
      GF_AUTH_DISABLE_LOGIN_FORM: 'true',
      GF_SECURITY_DISABLE_INITIAL_ADMIN_CREATION: 'true',
    })
    const provisioning = (name: string) => parse(readFileSync(new URL(`grafana/provisioning/${name}`, folder), 'utf8'))
    const [source] = provisioning('datasources/prometheus.yaml').datasources
    expect(source).toMatchObject({ type: 'prometheus', url: 'http://prometheus:9090', isDefault: true })
    const [{ options }] = provisioning('dashboards/teslim.yaml').providers
    expect(grafana.volumes).toContain(`./grafana/teslim.json:${options.path}/teslim.json:ro`)
  })
})
