import { execFileSync, spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseEnv } from 'node:util'
import { describe, expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { loadConfig } from '#src/config/load-config.ts'
import { settingProblems } from '../support/app/setting-problems.ts'

// biome-ignore lint/suspicious/noExplicitAny: the tests check what the YAML contains.
type Manifest = any

const folder = new URL('../../deploy/kubernetes/', import.meta.url)
const read = (name: string): string => readFileSync(new URL(name, folder), 'utf8')
const manifest = (name: string): Manifest => parse(read(name))

const kustomization = manifest('kustomization.yaml')
const deployment = manifest('deployment.yaml')
const service = manifest('service.yaml')
const budget = manifest('pod-disruption-budget.yaml')
const secret = manifest('secret.example.yaml')
const policy = manifest('network-policy.yaml')
const ingress = manifest('ingress.example.yaml')
const autoscaler = manifest('horizontal-pod-autoscaler.example.yaml')
const podMonitor = manifest('pod-monitor.example.yaml')
const [sqliteService, sqlite, sqlitePolicy] = parseAllDocuments(read('sqlite.yaml')).map(
  (document): Manifest => document.toJS(),
)
const sqlitePod = sqlite.spec.template.spec
const [sqliteServer] = sqlitePod.containers
const [sqliteMigration] = sqlitePod.initContainers ?? []
const restore = manifest('sqlite-restore.example.yaml')
const restorePod = restore.spec.template.spec
const [restoring] = restorePod.containers
const { version } = JSON.parse(readFileSync(new URL('../../package.json', folder), 'utf8'))
const { template } = deployment.spec
const pod = template.spec
const [server] = pod.containers
const settings = parseEnv(read('settings.env'))

describe('the Kubernetes manifests', () => {
  it('name settings that exist, with values that are allowed', () => {
    const { TESLIM_SECRET: placeholder, ...others } = secret.stringData
    expect(settingProblems({ ...settings, ...others })).toEqual([])
    expect(settings.NODE_ENV).toBe('production')
    expect(Object.keys(settings)).not.toContain('DATABASE_URL')
    // Nobody can run with the public value of the example.
    expect(settingProblems({ TESLIM_SECRET: placeholder })).toEqual([
      'TESLIM_SECRET: its value is not allowed, it must be at least 16 characters',
    ])
    expect(secret.stringData.DATABASE_URL).toMatch(/^postgres:\/\/teslim:PASSWORD@.*sslmode=verify-full$/)
  })

  it('are all in the kustomization, except the examples and the StatefulSet, which is applied by itself', () => {
    const names = globSync('*.yaml', { cwd: folder }).filter((name) => !/example|kustomization|sqlite/.test(name))
    expect(kustomization.resources.toSorted()).toEqual(names.toSorted())
    expect(kustomization.configMapGenerator).toEqual([{ name: 'teslim', envs: ['settings.env'] }])
    for (const { envFrom } of [...pod.initContainers, ...pod.containers])
      expect(envFrom).toEqual([{ configMapRef: { name: 'teslim' } }, { secretRef: { name: secret.metadata.name } }])
  })

  it('start no pod without the secrets', () => {
    const required = (key: string) => ({
      name: key,
      valueFrom: { secretKeyRef: { name: secret.metadata.name, key } },
    })
    for (const { env } of [...pod.initContainers, ...pod.containers])
      expect(env).toEqual(Object.keys(secret.stringData).map(required))
    expect(sqliteServer.env).toContainEqual(required('TESLIM_SECRET'))
  })

  it('let in only the ingress controller, and Prometheus to the metrics, and teslim out to DNS and its database', () => {
    expect(policy.spec).toMatchObject({
      podSelector: { matchLabels: template.metadata.labels },
      policyTypes: ['Ingress', 'Egress'],
    })
    const namespace = (name: string) => [
      { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } } },
    ]
    expect(policy.spec.ingress).toEqual([
      { from: namespace('ingress-nginx'), ports: [{ port: 'http', protocol: 'TCP' }] },
      { from: namespace('monitoring'), ports: [{ port: 'ops', protocol: 'TCP' }] },
    ])
    const { port } = new URL(secret.stringData.DATABASE_URL)
    const outwards = policy.spec.egress.map(({ ports }: Manifest) => ports.map((open: Manifest) => open.port))
    expect(outwards).toEqual([[53, 53], [Number(port || 5432)]])
    // The pod with the SQLite file needs no address outside.
    expect(sqlitePolicy.spec).toEqual({
      podSelector: { matchLabels: sqlite.spec.template.metadata.labels },
      policyTypes: ['Ingress', 'Egress'],
      ingress: policy.spec.ingress,
    })
  })

  it('have examples of an Ingress and an autoscaler that refer to the Service and the Deployment', () => {
    const [{ http }] = ingress.spec.rules
    expect(http.paths[0].backend.service).toEqual({ name: service.metadata.name, port: { name: 'http' } })
    expect(ingress.spec.tls[0].hosts).toEqual(ingress.spec.rules.map(({ host }: Manifest) => host))
    const annotations = ingress.metadata.annotations
    const limit = loadConfig({}).config.bodyLimitBytes
    const bodies = annotations['nginx.ingress.kubernetes.io/proxy-body-size']
    expect(Number.parseInt(bodies, 10) * 2 ** 20).toBeGreaterThan(limit)
    expect(Number(annotations['nginx.ingress.kubernetes.io/proxy-read-timeout'])).toBeGreaterThan(60)
    const { kind, metadata, spec } = deployment
    expect(autoscaler.spec.scaleTargetRef).toMatchObject({ kind, name: metadata.name })
    expect(autoscaler.spec.minReplicas).toBe(spec.replicas)
  })

  it('run one replica on an SQLite file, and never two', () => {
    const { replicas, podManagementPolicy, updateStrategy, volumeClaimTemplates, serviceName, selector } = sqlite.spec
    expect([replicas, podManagementPolicy, updateStrategy]).toEqual([1, 'OrderedReady', { type: 'RollingUpdate' }])
    expect(volumeClaimTemplates).toMatchObject([
      { metadata: { name: 'data' }, spec: { accessModes: ['ReadWriteOncePod'] } },
    ])
    expect(sqliteServer.volumeMounts).toEqual([{ name: 'data', mountPath: '/data' }])
    expect(sqlitePod.securityContext).toMatchObject({ fsGroup: 1000, fsGroupChangePolicy: 'OnRootMismatch' })
    expect([serviceName, sqliteService.spec.selector]).toEqual([sqliteService.metadata.name, selector.matchLabels])
    expect(sqlite.spec.template.metadata.labels).toEqual(selector.matchLabels)
    // The Deployment's Service, policy and budget must not take it for one of theirs.
    expect(selector.matchLabels).not.toEqual(template.metadata.labels)
    const plain = sqliteServer.env.filter(({ value }: Manifest) => value !== undefined)
    const values = Object.fromEntries(plain.map(({ name, value }: Manifest) => [name, value]))
    expect(settingProblems(values)).toEqual([])
    expect(values).toMatchObject({ NODE_ENV: 'production', DATABASE_URL: expect.stringMatching(/^sqlite:\/data\//) })
    expect(sqliteMigration).toMatchObject({
      args: ['migrate', '--existing'],
      image: sqliteServer.image,
      env: sqliteServer.env,
      volumeMounts: sqliteServer.volumeMounts,
    })
    expect(sqlitePod.terminationGracePeriodSeconds).toBeGreaterThan(Number(values.TESLIM_SHUTDOWN_SECONDS))
    expect(sqlitePod.enableServiceLinks).toBe(false)
  })

  it('restore a backup once, into the volume and with the secret of that replica', () => {
    const [{ metadata }] = sqlite.spec.volumeClaimTemplates
    const claimName = `${metadata.name}-${sqlite.metadata.name}-0`
    expect(restorePod).toMatchObject({
      restartPolicy: 'Never',
      enableServiceLinks: false,
      automountServiceAccountToken: false,
      securityContext: sqlitePod.securityContext,
      volumes: [{ name: metadata.name, persistentVolumeClaim: { claimName } }],
    })
    expect(restore.spec.backoffLimit).toBe(0)
    const { image, volumeMounts, env } = sqliteServer
    expect(restoring).toMatchObject({ image, volumeMounts, args: ['restore', expect.stringMatching(/^\/data\//)] })
    for (const each of restoring.env) expect(env).toContainEqual(each)
    const names = restoring.env.map(({ name }: Manifest) => name)
    expect(names).toEqual(expect.arrayContaining(['DATABASE_URL', 'TESLIM_SECRET']))
  })

  it('name the version of this repository', () => {
    expect(kustomization.images).toMatchObject([{ name: server.image, newTag: version }])
    expect(sqliteServer.image).toBe(`registry.example.com/teslim:${version}`)
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

  it('reach the ports that the server listens on, by their names; no Service leads to the metrics', () => {
    const { config } = loadConfig({})
    expect(server.ports).toEqual([
      { name: 'http', containerPort: config.port },
      { name: 'ops', containerPort: config.opsPort },
    ])
    for (const { spec } of [service, sqliteService]) expect(spec.ports).toMatchObject([{ targetPort: 'http' }])
    const ops = { TESLIM_OPS_HOST: '0.0.0.0', TESLIM_OPS_PORT: String(config.opsPort) }
    expect(settings).toMatchObject(ops)
    for (const [name, value] of Object.entries(ops)) expect(sqliteServer.env).toContainEqual({ name, value })
    expect(sqliteServer.ports).toEqual(server.ports)
    for (const container of [server, sqliteServer]) {
      const probed = ['startupProbe', 'livenessProbe', 'readinessProbe'].map((probe) => container[probe].httpGet)
      expect(probed).toEqual([
        { path: '/livez', port: 'ops' },
        { path: '/livez', port: 'ops' },
        { path: '/readyz', port: 'ops' },
      ])
      // /readyz answers within two seconds, whatever the store does.
      expect(container.readinessProbe.timeoutSeconds).toBeGreaterThan(2)
    }
  })

  it('start the image as its Dockerfile says, and the pages name the program where that puts it', () => {
    for (const container of [...pod.initContainers, ...pod.containers, sqliteMigration, sqliteServer, restoring])
      expect(container).not.toHaveProperty('command')
    const dockerfile = readFileSync(new URL('../../Dockerfile', folder), 'utf8')
    const last = (instruction: string) => dockerfile.match(new RegExp(`(?<=^${instruction} ).+`, 'gm'))?.at(-1) ?? ''
    const pages = ['../README.md', '../../docs/operations.md'].map((page) => read(page)).join('')
    const named = new Set(pages.match(/(?<=(?:exec|-- |env DATABASE_URL=\S+ ).*)node \S*teslim\S*/g))
    expect([...named]).toEqual(['node bin/teslim.js'])
    expect(JSON.parse(last('ENTRYPOINT')).at(-1)).toBe(`${last('WORKDIR')}/bin/teslim.js`)
  })

  it('have an example of a PodMonitor that scrapes every pod, as the job that the alerts ask for', () => {
    const { selector, podMetricsEndpoints } = podMonitor.spec
    const [{ key, values }] = selector.matchExpressions
    const labels = [template, sqlite.spec.template].map(({ metadata }: Manifest) => metadata.labels[key])
    expect(values).toEqual(labels)
    const [{ port, path, relabelings }] = podMetricsEndpoints
    const opsPorts = [server, sqliteServer].map(({ ports }) => ports.find(({ name }: Manifest) => name === port))
    expect(opsPorts).toMatchObject(Array(2).fill({ containerPort: loadConfig({}).config.opsPort }))
    expect(path).toBe('/metrics')
    const [{ targetLabel, replacement }] = relabelings
    const alerts = readFileSync(new URL('../prometheus/alerts.yml', folder), 'utf8')
    expect(alerts).toContain(`up{${targetLabel}="${replacement}"}`)
  })

  it('limit and disarm every container', () => {
    expect(pod).toMatchObject({
      automountServiceAccountToken: false,
      securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
    })
    expect(readFileSync(new URL('../../Dockerfile', folder), 'utf8')).toMatch(/^USER 1000:1000$/m)
    expect(sqlitePod.automountServiceAccountToken).toBe(false)
    expect(sqlitePod.securityContext).toMatchObject(pod.securityContext)
    for (const { resources, securityContext } of [
      ...pod.initContainers,
      ...pod.containers,
      sqliteMigration,
      sqliteServer,
      restoring,
    ]) {
      expect(Object.keys(resources.requests)).toEqual(['cpu', 'memory'])
      expect(Object.keys(resources.limits)).toEqual(['cpu', 'memory'])
      expect(securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      })
    }
  })

  it('migrate before the first new replica serves, and keep the old ones until it does', () => {
    expect(pod.initContainers).toMatchObject([
      { name: 'migrate', image: server.image, args: ['migrate', '--existing'] },
    ])
    expect(deployment.spec).toMatchObject({
      replicas: 3,
      strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
    })
    expect(budget.spec.maxUnavailable).toBe(1)
  })

  it('give a replica the time to lose its new connections and to finish before it is killed', () => {
    const { readyDelaySeconds, shutdownSeconds } = loadConfig(settings).config
    const { periodSeconds, failureThreshold } = server.readinessProbe
    expect(readyDelaySeconds).toBeGreaterThan(periodSeconds * failureThreshold)
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(readyDelaySeconds + shutdownSeconds)
  })

  it('keep out the variables that Kubernetes sets for a Service, which are ignored anyway', () => {
    const variable = `${service.metadata.name.toUpperCase()}_SERVICE_HOST`
    expect(settingProblems({ [variable]: '10.0.0.1' })).toEqual([])
    expect(pod.enableServiceLinks).toBe(false)
  })

  const hasKubectl = spawnSync('kubectl', ['version', '--client']).status === 0
  if (!hasKubectl) console.info('skipped: kubectl is not installed, so it renders nothing')
  it.runIf(hasKubectl)('are rendered by kubectl', () => {
    const rendered = execFileSync('kubectl', ['kustomize', fileURLToPath(folder)], { encoding: 'utf8' })
    const documents = parseAllDocuments(rendered).map((document) => document.toJS())
    expect(documents.map(({ kind }) => kind)).toEqual([
      'ConfigMap',
      'Service',
      'Deployment',
      'PodDisruptionBudget',
      'NetworkPolicy',
    ])
    const [configMap, , { spec }] = documents
    expect(configMap.data).toEqual({ ...settings })
    for (const container of [...spec.template.spec.initContainers, ...spec.template.spec.containers]) {
      expect(container.envFrom[0].configMapRef.name).toBe(configMap.metadata.name)
      expect(container.image).toMatch(/\/teslim:\d+\.\d+\.\d+$/)
    }
  })
})
