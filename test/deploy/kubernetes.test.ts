import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseEnv } from 'node:util'
import { describe, expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { loadConfig } from '#src/config/load-config.ts'
import { settingProblems } from '../support/setting-problems.ts'

// biome-ignore lint/suspicious/noExplicitAny: what YAML holds is for the test to find out.
type Manifest = any

const folder = new URL('../../deploy/kubernetes/', import.meta.url)
const read = (name: string): string => readFileSync(new URL(name, folder), 'utf8')
const manifest = (name: string): Manifest => parse(read(name))

const kustomization = manifest('kustomization.yaml')
const deployment = manifest('deployment.yaml')
const service = manifest('service.yaml')
const budget = manifest('pod-disruption-budget.yaml')
const secret = manifest('secret.example.yaml')
const { template } = deployment.spec
const pod = template.spec
const [server] = pod.containers
const settings = parseEnv(read('settings.env'))

describe('the Kubernetes manifests', () => {
  it('name settings that there are, with values that are allowed', () => {
    expect(settingProblems({ ...settings, ...secret.stringData })).toEqual([])
    expect(Object.keys(settings)).not.toContain('DATABASE_URL')
    expect(secret.stringData.DATABASE_URL).toMatch(/^postgres:\/\/teslim:PASSWORD@.*sslmode=verify-full$/)
  })

  it('are all in the kustomization but for the Secret, which is an example', () => {
    expect(kustomization.resources).toEqual(['deployment.yaml', 'service.yaml', 'pod-disruption-budget.yaml'])
    expect(kustomization.configMapGenerator).toEqual([{ name: 'teslim', envs: ['settings.env'] }])
    for (const { envFrom } of [...pod.initContainers, ...pod.containers])
      expect(envFrom).toEqual([{ configMapRef: { name: 'teslim' } }, { secretRef: { name: secret.metadata.name } }])
  })

  it('select the pods that the Deployment makes', () => {
    const { labels } = template.metadata
    expect(deployment.spec.selector.matchLabels).toEqual(labels)
    expect(budget.spec.selector.matchLabels).toEqual(labels)
    expect(service.spec.selector).toEqual(labels)
    const spread = pod.topologySpreadConstraints
    expect(spread.map(({ topologyKey }: Manifest) => topologyKey)).toEqual([
      'kubernetes.io/hostname',
      'topology.kubernetes.io/zone',
    ])
    for (const { labelSelector } of spread) expect(labelSelector.matchLabels).toEqual(labels)
  })

  it('reach the port that the server listens on, by its name', () => {
    const { config } = loadConfig({})
    expect(server.ports).toEqual([{ name: 'http', containerPort: config.port }])
    expect(service.spec.ports).toMatchObject([{ targetPort: 'http' }])
    const probed = ['startupProbe', 'livenessProbe', 'readinessProbe'].map((probe) => server[probe].httpGet)
    expect(probed).toEqual([
      { path: '/livez', port: 'http' },
      { path: '/livez', port: 'http' },
      { path: '/readyz', port: 'http' },
    ])
    expect(server.readinessProbe.timeoutSeconds).toBeGreaterThan(config.databaseTimeoutSeconds)
  })

  it('limit and disarm every container', () => {
    expect(pod).toMatchObject({
      automountServiceAccountToken: false,
      securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
    })
    expect(readFileSync(new URL('../../Dockerfile', folder), 'utf8')).toMatch(/^USER 1000:1000$/m)
    for (const { resources, securityContext } of [...pod.initContainers, ...pod.containers]) {
      expect(Object.keys(resources.requests)).toEqual(['cpu', 'memory'])
      expect(Object.keys(resources.limits)).toEqual(['cpu', 'memory'])
      expect(securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      })
    }
  })

  it('migrate before the first new replica serves, and take no old one away until it does', () => {
    expect(pod.initContainers).toMatchObject([{ name: 'migrate', image: server.image, args: ['migrate'] }])
    expect(deployment.spec).toMatchObject({
      replicas: 3,
      strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
    })
    expect(budget.spec.maxUnavailable).toBe(1)
  })

  it('give a replica the time to be forgotten and to finish before it is killed', () => {
    const { shutdownSeconds } = loadConfig({ TESLIM_SHUTDOWN_SECONDS: settings.TESLIM_SHUTDOWN_SECONDS }).config
    const pause = server.lifecycle.preStop.sleep.seconds
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(pause + shutdownSeconds)
  })

  it('keep out the variables that Kubernetes sets for a Service, which are no settings', () => {
    const variable = `${service.metadata.name.toUpperCase()}_SERVICE_HOST`
    expect(settingProblems({ [variable]: '10.0.0.1' })).toEqual([expect.stringContaining('there is no such setting')])
    expect(pod.enableServiceLinks).toBe(false)
  })

  it.runIf(spawnSync('kubectl', ['version', '--client']).status === 0)('are rendered by kubectl', () => {
    const rendered = execFileSync('kubectl', ['kustomize', fileURLToPath(folder)], { encoding: 'utf8' })
    const documents = parseAllDocuments(rendered).map((document) => document.toJS())
    expect(documents.map(({ kind }) => kind)).toEqual(['ConfigMap', 'Service', 'Deployment', 'PodDisruptionBudget'])
    const [configMap, , { spec }] = documents
    expect(configMap.data).toEqual({ ...settings })
    for (const container of [...spec.template.spec.initContainers, ...spec.template.spec.containers]) {
      expect(container.envFrom[0].configMapRef.name).toBe(configMap.metadata.name)
      expect(container.image).toMatch(/\/teslim:\d+\.\d+\.\d+$/)
    }
  })
})
