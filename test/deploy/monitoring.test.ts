import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { parse, stringify } from 'yaml'
import { classOf } from '#src/lib/app-error.ts'
import { testOps } from '../support/app/scrape.ts'
import { testApp } from '../support/app/test-app.ts'
import { allDefinitions } from '../support/docs/definitions.ts'
import { commandBlocks } from '../support/docs/doc-blocks.ts'
import { hasPromtool, promtool } from '../support/docs/promtool.ts'
import { tempFolder } from '../support/temp-folder.ts'

const root = new URL('../../', import.meta.url)
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8')
const rulesPath = fileURLToPath(new URL('deploy/prometheus/alerts.yml', root))

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly labels: { readonly severity: string }
  readonly annotations: Record<string, string>
}

interface Panel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly targets?: readonly { readonly expr: string; readonly refId: string }[]
}

const rules: readonly Rule[] = parse(read('deploy/prometheus/alerts.yml')).groups[0].rules
const { homepage, version } = JSON.parse(read('package.json'))
const panels: readonly Panel[] = JSON.parse(read('deploy/grafana/teslim.json')).panels
const queries = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))

/** Not in every scrape: that of PostgreSQL, that of a first look, and those of webhooks, which need an endpoint, have tests of their own. */
const ABSENT_AT_FIRST = [
  'teslim_database_timeline',
  'teslim_suppliers_silent',
  'teslim_retention_held',
  'teslim_backup_age_seconds',
  'teslim_webhook_attempts_total',
  'teslim_webhook_behind_seconds',
  'teslim_webhook_paused',
  'teslim_webhook_pending',
  'teslim_webhook_set_aside',
]

describe('the alerts and the dashboard', () => {
  it('name only metrics that a server has', async () => {
    const service = await testApp()
    await service.app.inject('/nowhere')
    const { payload } = await testOps(service).inject('/metrics')
    const scraped = new Set(payload.match(/^\w+/gm))
    const named = [...rules.map(({ expr }) => expr), ...queries].flatMap(
      (text) => text.match(/\b(?:teslim|process|nodejs)_\w+/g) ?? [],
    )
    expect(new Set(named).size).toBeGreaterThan(25)
    const unknown = named.filter((name) => !scraped.has(name) && !ABSENT_AT_FIRST.includes(name))
    expect([...new Set(unknown)]).toEqual([])
  })

  it('are explained in docs/monitoring.md, one by one, where each alert says', () => {
    const guide = read('docs/monitoring.md')
    const [, section = ''] = /^## Alerts\n([\s\S]*?)^## /m.exec(guide) ?? []
    const explained = Array.from(section.matchAll(/^### (\w+)\n\n\S/gm), ([, name]) => name)
    expect(explained).toEqual(rules.map(({ alert }) => alert))
    for (const { alert, annotations, labels } of rules) {
      expect(Object.keys(annotations)).toEqual(['summary', 'description', 'runbook_url'])
      // The address that a browser gives to the heading above.
      expect(annotations.runbook_url).toBe(`${homepage}/blob/main/docs/monitoring.md#${alert.toLowerCase()}`)
      expect(['critical', 'warning']).toContain(labels.severity)
    }
  })
})

it('the line in docs/monitoring.md makes rules that link to an address of your own', () => {
  const [line] = commandBlocks('docs/monitoring.md').filter(({ text }) => text.includes('alerts.yml'))
  const folder = tempFolder()
  const commands = line?.text.replace('deploy/prometheus/alerts.yml', rulesPath) ?? ''
  expect(spawnSync('sh', ['-euc', commands], { cwd: folder }).status).toBe(0)
  const made = readFileSync(join(folder, 'my-alerts.yml'), 'utf8')
  const links = rules.map(({ alert }) => `https://wiki.example/teslim/monitoring.md#${alert.toLowerCase()}`)
  expect(made.match(/https:.*/g)).toEqual(links)
  if (hasPromtool) expect(promtool(['check', 'rules', 'my-alerts.yml'], '', folder)).toMatchObject({ status: 0 })
})

describe('the dashboard', () => {
  it('has panels with ids of their own, that do not overlap', () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
    expect(new Set(panels.map(({ title }) => title)).size).toBe(panels.length)
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, index) => `${x + (index % w)},${y + Math.floor(index / w)}`),
    )
    expect(new Set(cells).size).toBe(cells.length)
    expect(Math.max(...panels.map(({ gridPos: { x, w } }) => x + w))).toBe(24)
    for (const { type, targets = [] } of panels) expect(targets.length > 0).toBe(type !== 'row')
  })

  it.runIf(hasPromtool)('asks questions that Prometheus understands', () => {
    const asked = queries.map((expr) => expr.replaceAll('$__rate_interval', '1m').replaceAll('$instance', '.*'))
    const asRules = { groups: [{ name: 'panels', rules: asked.map((expr, at) => ({ record: `panel:${at}`, expr })) }] }
    const file = join(tempFolder(), 'panels.yml')
    writeFileSync(file, stringify(asRules))
    expect(promtool(['check', 'rules', file])).toMatchObject({ status: 0 })
  })
})

const SERVER = 'job="teslim",instance="a:9464"'
/** A series by its name and labels, in the notation of promtool; one sample a minute. */
const series = (name: string, labels: string, values: string) => ({
  series: `${name}{${SERVER}${labels && `,${labels}`}}`,
  values,
})
const gauge = (name: string, values: string, labels = '') => [series(name, labels, values)]
const requests = (status: number, values: string, route = '/Purchase/update') =>
  series('teslim_http_requests_total', `method="POST",route="${route}",status="${status}"`, values)
const classes = new Map((await allDefinitions()).map((definition) => [definition.code, classOf(definition)]))
/** As a server counts them. */
const refusals = (
  values: string,
  code = 'PRODUCT_NOT_AUTHORIZED',
  more: Partial<Record<'action' | 'class', string>> = {},
) => {
  const { action = 'delivery.refused', class: own = classes.get(code) } = more
  return [series('teslim_refusals_total', `action="${action}",code="${code}",class="${own}"`, values)]
}
const logins = (ok: string, refused: string) => [
  series('teslim_logins_total', 'outcome="ok"', ok),
  series('teslim_logins_total', 'outcome="refused"', refused),
]
/** All observations below a bound, a minute. */
const observed = (name: string, bound: string, next: string) => [
  series(`${name}_bucket`, `le="${bound}"`, '0+0x60'),
  series(`${name}_bucket`, `le="${next}"`, '0+100x60'),
  series(`${name}_bucket`, 'le="+Inf"', '0+100x60'),
]
const deliveries = (values: string) => [series('teslim_deliveries_total', 'status="1",duplicate="false"', values)]
const servers = (...values: readonly string[]) =>
  values.map((one, at) => ({ series: `up{job="teslim",instance="${at}:9464"}`, values: one }))

const ENDPOINT = 'endpoint="01a1fd40"'
const attempts = (success: string, failure: string) => [
  series('teslim_webhook_attempts_total', `${ENDPOINT},outcome="success"`, success),
  series('teslim_webhook_attempts_total', `${ENDPOINT},outcome="failure"`, failure),
]
const paused = (reason: string, values: string) =>
  gauge('teslim_webhook_paused', values, `${ENDPOINT},reason="${reason}"`)

const built = (store: string) =>
  gauge('teslim_build_info', '1x200', `version="${version}",node="v26.10.0",store="${store}"`)

const WEEK = 7 * 24 * 60
const DAY = 24 * 60

interface Case {
  readonly alert: string
  readonly when: string
  readonly fires: number
  readonly minute: number
  readonly input: readonly { readonly series: string; readonly values: string }[]
}

const fires = (alert: string, when: string, minute: number, input: Case['input'], count = 1): Case => ({
  alert,
  when,
  minute,
  input,
  fires: count,
})
const silent = (alert: string, when: string, minute: number, input: Case['input']): Case =>
  fires(alert, when, minute, input, 0)

const cases: readonly Case[] = [
  fires('TeslimDown', 'a server does not answer', 3, gauge('up', '1 0x10')),
  fires('TeslimDown', 'its name leads nowhere any more', 8, gauge('up', '1 1 _x10')),
  silent('TeslimDown', 'one scrape is missed', 3, gauge('up', '1 1 0 1 1')),
  fires('TeslimServersMissing', 'one of three ended hours ago', 400, servers('1x420', '1x420', '1x280 _x140')),
  silent('TeslimServersMissing', 'a new version has replaced them', 400, [
    ...servers('1x385 _x40', '1x420', '_x380 1x40'),
  ]),
  fires('TeslimStoreDown', 'the store does not answer', 3, gauge('teslim_store_up', '1 0x10')),
  silent('TeslimStoreDown', 'it answers', 3, gauge('teslim_store_up', '1x10')),
  fires('TeslimNotReady', 'the disk is full', 4, [
    ...gauge('teslim_ready', '0x10'),
    ...gauge('teslim_store_up', '1x10'),
  ]),
  silent('TeslimNotReady', 'the store is down, which has an alert of its own', 4, [
    ...gauge('teslim_ready', '0x10'),
    ...gauge('teslim_store_up', '0x10'),
  ]),
  fires('TeslimDatabaseFailedOver', 'a standby was promoted', 10, gauge('teslim_database_timeline', '3x5 _ _ 4x60')),
  silent('TeslimDatabaseFailedOver', 'the server was restarted', 10, gauge('teslim_database_timeline', '3x5 _ _ 3x60')),
  silent('TeslimDatabaseFailedOver', 'it was long ago', 80, gauge('teslim_database_timeline', '3x5 4x90')),
  fires('TeslimCommitsSlow', 'commits take a second', 20, observed('teslim_commit_duration_seconds', '0.5', '1.0')),
  silent('TeslimCommitsSlow', 'commits take 50 ms', 20, observed('teslim_commit_duration_seconds', '0.025', '0.05')),
  fires('TeslimDeliveriesOverloaded', 'some are refused all the time', 10, refusals('0x2 0+20x60', 'STORE_OVERLOADED')),
  silent('TeslimDeliveriesOverloaded', 'a burst was refused', 10, refusals('0x6 900x60', 'STORE_OVERLOADED')),
  silent('TeslimDeliveriesOverloaded', 'they are refused for another reason', 10, refusals('0+20x60')),
  fires('TeslimServerErrors', 'one request in fifty fails', 15, [requests(200, '0+98x60'), requests(503, '0+2x60')]),
  silent('TeslimServerErrors', 'one in a thousand fails, and every health check', 15, [
    requests(200, '0+999x60'),
    requests(503, '0+1x60'),
    requests(503, '0+999x60', '/readyz'),
  ]),
  fires('TeslimApiKeysRefused', 'the store has no keys, and two deliveries come in a minute', 20, [
    ...refusals('0+2x60', 'API_KEY_INVALID'),
    ...deliveries('0x60'),
  ]),
  fires('TeslimApiKeysRefused', 'nothing was ever delivered', 20, refusals('0+2x60', 'API_KEY_MISSING')),
  silent('TeslimApiKeysRefused', 'somebody tries out keys while others deliver', 20, [
    ...refusals('0+30x60', 'API_KEY_INVALID'),
    ...deliveries('0+31x60'),
  ]),
  silent('TeslimApiKeysRefused', 'one old program knocks once in two minutes', 20, [
    ...refusals('0 0 1 1 2 2 3 3 4 4 5 5 6 6 7 7 8 8 9 9 10 10 11', 'API_KEY_INVALID'),
    ...deliveries('0x60'),
  ]),
  // Whatever a code is called.
  silent('TeslimApiKeysRefused', 'an operator lets a key pause', 20, [
    ...refusals('0+20x60', 'API_KEY_HELD', { class: 'limit' }),
    ...deliveries('0x60'),
  ]),
  fires('TeslimApiKeysRefused', 'another program sends tokens that ended', 20, refusals('0+2x60', 'TOKEN_EXPIRED')),
  silent('TeslimApiKeysRefused', 'most are refused for their products', 20, [
    ...refusals('0+10x60'),
    ...refusals('0+5x60', 'API_KEY_INVALID'),
  ]),
  silent('TeslimApiKeysRefused', 'it is over', 40, [
    ...refusals('0+2x10 20x60', 'API_KEY_INVALID'),
    ...deliveries('0x60'),
  ]),
  fires('TeslimDeliveriesRefused', 'two deliveries come in a minute, with a new product', 20, [
    ...refusals('0+2x60'),
    ...deliveries('0+1x60'),
  ]),
  silent('TeslimDeliveriesRefused', 'most are stored', 20, [...refusals('0+20x60'), ...deliveries('0+21x60')]),
  fires('TeslimDeliveriesRefused', 'a key is at its limit', 20, refusals('0+2x60', 'RATE_LIMITED')),
  silent('TeslimDeliveriesRefused', 'it is because of their keys', 20, refusals('0+2x60', 'API_KEY_INVALID')),
  ...['STORE_OVERLOADED', 'STORE_UNAVAILABLE', 'STOPPING'].map((code) =>
    silent('TeslimDeliveriesRefused', `it is ${code}`, 20, refusals('0+20x60', code)),
  ),
  fires('TeslimRefusalBurst', 'a code appears often', DAY + 10, refusals(`0x${DAY} 0+20x60`)),
  silent('TeslimRefusalBurst', 'a code is as frequent as ever', DAY + 10, refusals(`0+20x${DAY + 60}`)),
  ...['STORE_OVERLOADED', 'OVERLOADED', 'STOPPING', 'SIGNING_KEY_CANNOT_OPEN'].map((code) =>
    silent('TeslimRefusalBurst', `it is ${code}`, DAY + 10, refusals(`0x${DAY} 0+20x60`, code)),
  ),
  fires('TeslimLoginsUnderAttack', 'wrong passwords come all the time', 20, logins('0+1x60', '0+30x60')),
  silent('TeslimLoginsUnderAttack', 'many log in, and some mistype', 20, logins('0+500x60', '0+30x60')),
  silent('TeslimLoginsUnderAttack', 'somebody forgot the password', 20, logins('0x60', '0+5x60')),
  fires(
    'TeslimDeliveriesSilent',
    'nothing comes at an hour that had deliveries',
    WEEK + 90,
    deliveries(`0+5x${WEEK} 0+0x120`),
  ),
  silent('TeslimDeliveriesSilent', 'as many come as a week ago', WEEK + 90, deliveries(`0+5x${WEEK + 120}`)),
  silent('TeslimDeliveriesSilent', 'nothing came a week ago either', WEEK + 90, deliveries(`0+0x${WEEK + 120}`)),
  fires('TeslimSuppliersSilent', 'one has been silent for long', 20, gauge('teslim_suppliers_silent', '0x2 1x30')),
  silent('TeslimSuppliersSilent', 'all are heard again soon after the server was away', 30, [
    ...gauge('teslim_suppliers_silent', '0x5 _x5 40x8 0x20'),
  ]),
  silent('TeslimSuppliersSilent', 'none is, or nobody is watched', 30, gauge('teslim_suppliers_silent', '0x40')),
  fires('TeslimApiKeysExpiring', 'a key expires', 70, gauge('teslim_api_keys_expiring', '1x80', 'within="14d"')),
  silent('TeslimApiKeysExpiring', 'none does', 70, gauge('teslim_api_keys_expiring', '0x80', 'within="14d"')),
  fires(
    'TeslimDiskFull',
    'a gigabyte a minute goes',
    400,
    gauge('teslim_disk_free_bytes', '1500000000000-1000000000x420'),
  ),
  fires('TeslimDiskFull', 'it is full and stays so', 400, gauge('teslim_disk_free_bytes', '50000000x420')),
  silent(
    'TeslimDiskFull',
    'a megabyte a minute goes',
    400,
    gauge('teslim_disk_free_bytes', '1500000000000-1000000x420'),
  ),
  fires('TeslimBackupOld', 'the backups stopped', 30, gauge('teslim_backup_age_seconds', '130000+60x60')),
  silent('TeslimBackupOld', 'one was made yesterday', 30, gauge('teslim_backup_age_seconds', '86400+60x60')),
  fires('TeslimBackupMissing', 'there was never one', 150, built('sqlite')),
  fires('TeslimBackupMissing', 'its age is gone', 200, [
    ...built('sqlite'),
    ...gauge('teslim_backup_age_seconds', '0+60x60 _x140'),
  ]),
  silent('TeslimBackupMissing', 'there is one', 150, [
    ...built('sqlite'),
    ...gauge('teslim_backup_age_seconds', '60x200'),
  ]),
  silent('TeslimBackupMissing', 'the first one comes within two hours', 150, [
    ...built('sqlite'),
    ...gauge('teslim_backup_age_seconds', '_x110 0+60x90'),
  ]),
  silent('TeslimBackupMissing', 'the store is PostgreSQL', 150, built('postgres')),
  fires(
    'TeslimFollowerBehind',
    'what followers get is minutes old',
    30,
    observed('teslim_feed_lag_seconds', '60.0', '300.0'),
  ),
  silent('TeslimFollowerBehind', 'they get it within a second', 30, observed('teslim_feed_lag_seconds', '0.5', '1.0')),
  fires('TeslimFollowersGone', 'the only follower left', DAY + 30, gauge('teslim_feed_followers', `1x${DAY} 0x60`)),
  silent('TeslimFollowersGone', 'one reconnected', DAY + 30, gauge('teslim_feed_followers', `1x${DAY} 0x5 1x60`)),
  silent('TeslimFollowersGone', 'nobody ever followed', DAY + 30, gauge('teslim_feed_followers', `0x${DAY + 60}`)),
  fires('TeslimWebhookBehind', 'an endpoint is away', 30, gauge('teslim_webhook_behind_seconds', '0+60x60', ENDPOINT)),
  silent('TeslimWebhookBehind', 'it catches up', 30, gauge('teslim_webhook_behind_seconds', '0+60x15 0x60', ENDPOINT)),
  fires('TeslimWebhookFailing', 'all attempts fail', 40, attempts('0+5x10 50x50', '0x3 0+1x60')),
  fires('TeslimWebhookFailing', 'it never took anything', 40, attempts('_x60', '0+1x60')),
  silent('TeslimWebhookFailing', 'some succeed', 40, attempts('0+1x60', '0+30x60')),
  silent('TeslimWebhookFailing', 'nothing is sent', 40, attempts('5x60', '5x60')),
  fires('TeslimWebhookSetAside', 'a delivery is set aside', 5, gauge('teslim_webhook_set_aside', '0 1x10', ENDPOINT)),
  silent('TeslimWebhookSetAside', 'none is', 5, gauge('teslim_webhook_set_aside', '0x10', ENDPOINT)),
  fires('TeslimWebhookGone', 'an endpoint answered 410', 5, paused('gone', '1x10')),
  silent('TeslimWebhookGone', 'an operator paused it', 5, paused('operator', '1x10')),
  ...['operator', 'restored', 'customer-removed'].map((reason) =>
    fires('TeslimWebhookPaused', `it is ${reason}`, 70, paused(reason, '1x80')),
  ),
  silent('TeslimWebhookPaused', 'an operator resumes it within the hour', 70, [
    ...paused('operator', '1x50 _x30'),
    ...paused('none', '_x50 0x30'),
  ]),
  silent('TeslimWebhookPaused', 'it answered 410, which has an alert of its own', 70, paused('gone', '1x80')),
  fires(
    'TeslimRetentionHeld',
    'an endpoint has not taken old deliveries',
    20,
    gauge('teslim_retention_held', '12x30', ENDPOINT),
  ),
  silent('TeslimRetentionHeld', 'it has taken them since', 20, gauge('teslim_retention_held', '12x5 _x30', ENDPOINT)),
]

describe('the alerts', () => {
  it('tell codes apart by their class, not by how they begin', () => {
    expect(rules.filter(({ expr }) => /\bcode[!=]~/.test(expr))).toEqual([])
    const named = rules.flatMap(({ expr }) =>
      Array.from(expr.matchAll(/\bclass[!=][=~]?"([^"]+)"/g), ([, text = '']) => text.split('|')),
    )
    expect(named.length).toBeGreaterThan(4)
    expect(named.flat().filter((name) => !new Set<string>(classes.values()).has(name))).toEqual([])
  })

  it('have a test in which they fire, and one in which they do not', () => {
    const names = rules.map(({ alert }) => alert)
    for (const count of [0, 1]) {
      const tested = cases.filter((one) => one.fires === count).map(({ alert }) => alert)
      expect([...new Set(tested)]).toEqual(names)
    }
  })

  it.runIf(hasPromtool)('are rules that Prometheus understands, and so is its configuration', () => {
    expect(promtool(['check', 'rules', rulesPath])).toMatchObject({ status: 0 })
    const config = fileURLToPath(new URL('deploy/prometheus/prometheus.yml', root))
    expect(promtool(['check', 'config', config])).toMatchObject({ status: 0 })
  })

  it.runIf(hasPromtool).each(cases)('$alert: $when (fires: $fires)', (one) => {
    verdicts ??= judge()
    expect(verdicts.get(`${cases.indexOf(one)}.test.yml`)).toBe('SUCCESS')
  })
})

let verdicts: Map<string, string> | undefined

/** What promtool says of each case. One process does all of them, because it takes a tenth of a second to start. */
function judge(): Map<string, string> {
  const folder = tempFolder()
  const files = cases.map(({ alert, minute, input, fires }, number) => {
    const test = {
      interval: '1m',
      input_series: input,
      promql_expr_test: [
        {
          expr: `count(ALERTS{alertname="${alert}",alertstate="firing"}) or vector(0)`,
          eval_time: `${minute}m`,
          exp_samples: [{ labels: '{}', value: fires }],
        },
      ],
    }
    // Only the rule in question, and over days only now and then: promtool evaluates every rule at every step.
    const alone = { groups: [{ name: 'teslim', rules: rules.filter((rule) => rule.alert === alert) }] }
    writeFileSync(join(folder, `${number}.alerts.yml`), stringify(alone))
    const evaluation_interval = minute > WEEK ? '15m' : minute > DAY ? '5m' : '1m'
    const tests = { rule_files: [`${number}.alerts.yml`], evaluation_interval, tests: [test] }
    writeFileSync(join(folder, `${number}.test.yml`), stringify(tests))
    return `${number}.test.yml`
  })
  const { output } = promtool(['test', 'rules', ...files], '', folder)
  // Unit Testing: NAME, and below it SUCCESS or what failed.
  const parts = output.split('Unit Testing:').map((part) => part.trim().split('\n'))
  return new Map(parts.map(([name = '', ...lines]) => [name.trim(), lines.map((line) => line.trim()).join('\n')]))
}
