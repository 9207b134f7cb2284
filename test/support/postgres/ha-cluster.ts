import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, closeSync, globSync, mkdirSync, mkdtempSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fetch } from '../app/checked-fetch.ts'
import { until } from '../until.ts'
import { binaries, guardFolder, processesIn, serverPort, signalAll } from './ha-processes.ts'
import { identity, runSql } from './postgres-server.ts'

/** One machine: Patroni and its PostgreSQL. */
export interface Node {
  readonly name: string
  /** Of PostgreSQL's superuser. */
  readonly url: string
  start(): void
  /** SIGKILL to all its processes: the machine has no power. */
  kill(): Promise<void>
  /** SIGSTOP to all its processes: the machine is paused. */
  freeze(): Promise<void>
  goOn(): void
  /** SIGKILL to Patroni; PostgreSQL goes on. */
  killPatroni(): Promise<void>
}

export interface Cluster {
  /** A database of its own: at all nodes, and through HAProxy. */
  readonly hostList: string
  readonly haproxy: string
  /** For the processes of a test. Whatever works in it is ended with the cluster, or when this process has ended. */
  readonly folder: string
  leader(): Promise<Node>
  /** Hands the leader's place to the synchronous standby, as `patronictl switchover` does. */
  switchover(): Promise<void>
  /** Waits until all nodes are there, and one of them is the synchronous standby. */
  whole(): Promise<void>
  /** The last lines of what each program printed. */
  log(): string
  remove(): Promise<void>
}

interface Member {
  readonly name: string
  readonly role: string
  readonly state: string
  readonly api_url: string
}

const SHIPPED = new URL('../../../deploy/postgres-ha/', import.meta.url)
const shipped = (name: string): string => readFileSync(new URL(name, SHIPPED), 'utf8')

const PASSWORD = 'secret'
const WHOLE_MILLISECONDS = 60_000
/** Four rounds of each Patroni. */
const MENDED_MILLISECONDS = 20_000
/**
 * After a pause Patroni 3.0 may know an old version of this key of etcd until it is started again. Where a frozen leader took its place
 * again, the key names the node that had replaced it, and Patroni does not write it any more.
 */
const STANDBY_KEY = '/service/teslim/sync'
const STALE_KEY = 'Synchronous replication key updated by someone else'

/** Starts etcd, three nodes and HAProxy with the files of deploy/postgres-ha, in which only ports, folders and passwords are replaced. */
export async function startCluster(): Promise<Cluster> {
  const folder = mkdtempSync(join(tmpdir(), 'teslim-ha-'))
  const remove = guardFolder(folder)
  try {
    return { ...(await startIn(folder)), remove }
  } catch (error) {
    await remove()
    throw error
  }
}

async function startIn(folder: string): Promise<Omit<Cluster, 'remove'>> {
  const own = (path: string): string => {
    if ('uid' in identity) chownSync(path, identity.uid as number, identity.gid as number)
    return path
  }
  own(folder)
  const place = (name: string): string => {
    mkdirSync(join(folder, name))
    return own(join(folder, name))
  }
  const run = (program: string, args: readonly string[], cwd: string, env: Record<string, string> = {}) => {
    const log = openSync(`${cwd}.log`, 'a')
    const { PATH = '' } = process.env
    const options = { ...identity, cwd, env: { PATH, HOME: cwd, ...env } }
    const child = spawn(program, args, { ...options, stdio: ['ignore', log, log] })
    closeSync(log)
    return child
  }

  const [etcdPort, peerPort, haproxyPort] = [await serverPort(), await serverPort(), await serverPort()]
  const [clients, peers] = [`http://127.0.0.1:${etcdPort}`, `http://127.0.0.1:${peerPort}`]
  const etcd = place('etcd')
  const urls = [`--listen-client-urls=${clients}`, `--advertise-client-urls=${clients}`, `--listen-peer-urls=${peers}`]
  const cluster = [`--initial-advertise-peer-urls=${peers}`, `--initial-cluster=default=${peers}`]
  run('etcd', ['--data-dir=data', ...urls, ...cluster], etcd)

  const nodes = await Promise.all(
    [1, 2, 3].map(async (number) => {
      const name = `node${number}`
      const home = place(name)
      const [port, restPort] = [await serverPort(), await serverPort()]
      const config = join(home, 'config.yml')
      // In the folder of its data, too: where a server was killed, its part of /dev/shm would stay behind.
      const places = `${home}\n    dynamic_shared_memory_type: mmap`
      writeFileSync(config, shipped('patroni.yml').replace('/var/run/postgresql', places))
      const env: Record<string, string> = {
        PATRONI_NAME: name,
        PATRONI_ETCD3_HOSTS: `127.0.0.1:${etcdPort}`,
        PATRONI_RESTAPI_LISTEN: `127.0.0.1:${restPort}`,
        PATRONI_RESTAPI_CONNECT_ADDRESS: `127.0.0.1:${restPort}`,
        PATRONI_RESTAPI_USERNAME: 'patroni',
        PATRONI_RESTAPI_PASSWORD: PASSWORD,
        PATRONI_POSTGRESQL_LISTEN: `127.0.0.1:${port}`,
        PATRONI_POSTGRESQL_CONNECT_ADDRESS: `127.0.0.1:${port}`,
        PATRONI_POSTGRESQL_DATA_DIR: join(home, 'data'),
        PATRONI_POSTGRESQL_BIN_DIR: dirname(binaries as string),
        PATRONI_SUPERUSER_PASSWORD: PASSWORD,
        PATRONI_REPLICATION_PASSWORD: PASSWORD,
        PATRONI_REWIND_PASSWORD: PASSWORD,
      }
      const wanted = Array.from(shipped('node.env.example').matchAll(/^(\w+)=/gm), ([, variable]) => variable)
      if (wanted.join() !== Object.keys(env).join()) throw new Error(`node.env.example has other names: ${wanted}`)
      let patroni: ReturnType<typeof run>
      const node: Node = {
        name,
        url: `postgres://postgres:${PASSWORD}@127.0.0.1:${port}/postgres`,
        start() {
          patroni = run('patroni', [config], home, env)
        },
        kill: () => signalAll(home, 'SIGKILL'),
        freeze: () => signalAll(home, 'SIGSTOP'),
        goOn() {
          for (const id of processesIn(home)) process.kill(id, 'SIGCONT')
        },
        async killPatroni() {
          const ended = once(patroni, 'exit')
          patroni.kill('SIGKILL')
          await ended
        },
      }
      node.start()
      return { ...node, port, restPort }
    }),
  )

  let haproxyConfig = shipped('haproxy.cfg').replaceAll('127.0.0.1:5000', `127.0.0.1:${haproxyPort}`)
  for (const [index, { port, restPort }] of nodes.entries())
    haproxyConfig = haproxyConfig.replace(`10.0.0.${index + 1}:5432 port 8008`, `127.0.0.1:${port} port ${restPort}`)
  writeFileSync(join(folder, 'haproxy.cfg'), haproxyConfig)
  run('haproxy', ['-db', '-f', join(folder, 'haproxy.cfg')], place('haproxy'))

  /** As the first node knows them that answers. */
  const members = async (): Promise<readonly Member[]> => {
    const asked = nodes.map(async ({ restPort }) => {
      const answer = await fetch(`http://127.0.0.1:${restPort}/cluster`, { signal: AbortSignal.timeout(1000) })
      return ((await answer.json()) as { members: Member[] }).members
    })
    return Promise.any(asked).catch(() => [])
  }
  /** None answers in time on a busy machine, and there is none during a failover. */
  const leader = async () => {
    let found: (typeof nodes)[number] | undefined
    await until('a node is the leader', async () => {
      const name = (await members()).find(({ role }) => role === 'leader')?.name
      found = nodes.find((node) => node.name === name)
      return found !== undefined
    })
    return found as NonNullable<typeof found>
  }
  const log = (): string =>
    globSync(join(folder, '*.log'))
      .map((path) => `--- ${path}\n${readFileSync(path, 'utf8').split('\n').slice(-25).join('\n')}`)
      .join('\n')
  const whole = async (): Promise<void> => {
    let seen: readonly Member[] = []
    const isWhole = async (): Promise<boolean> => {
      seen = await members()
      const roles = seen.filter(({ state }) => /running|streaming/.test(state)).map(({ role }) => role)
      return roles.toSorted().join() === 'leader,replica,sync_standby'
    }
    const mended = async (): Promise<void> => {
      // An asynchronous replica that was ahead of the new primary cannot go on: deploy/postgres-ha/README.md says what to do.
      for (const { name, state, api_url } of seen.filter(({ state }) => state === 'start failed')) {
        const { status } = await fetch(`${api_url.replace(/\/patroni$/, '')}/reinitialize`, {
          method: 'POST',
          body: '{"force":true}',
        })
        console.info(`${name} is copied anew (${status}): ${state}`)
      }
      if (!log().includes(STALE_KEY)) return
      const node = await leader()
      console.info(`${STANDBY_KEY} is removed, and Patroni of ${node.name} started again: ${STALE_KEY}`)
      await fetch(`${clients}/v3/kv/deleterange`, { method: 'POST', body: JSON.stringify({ key: btoa(STANDBY_KEY) }) })
      await node.killPatroni()
      node.start()
    }
    await until('', isWhole, { milliseconds: MENDED_MILLISECONDS }).catch(mended)
    await until('', isWhole, { milliseconds: WHOLE_MILLISECONDS }).catch(() => {
      throw new Error(`the cluster is not whole: ${JSON.stringify(seen)}\n${log()}`)
    })
  }
  await whole()
  await runSql((await leader()).url, `CREATE ROLE teslim LOGIN PASSWORD '${PASSWORD}'`)
  await runSql((await leader()).url, 'CREATE DATABASE teslim OWNER teslim')
  const address = (hosts: string): string => `postgres://teslim:${PASSWORD}@${hosts}/teslim`
  return {
    hostList: address(nodes.map(({ port }) => `127.0.0.1:${port}`).join()),
    haproxy: address(`127.0.0.1:${haproxyPort}`),
    folder,
    leader,
    async switchover() {
      const { name, restPort } = await leader()
      const candidate = (await members()).find(({ role }) => role === 'sync_standby')?.name
      const authorization = `Basic ${btoa(`patroni:${PASSWORD}`)}`
      const body = JSON.stringify({ leader: name, candidate })
      const answer = await fetch(`http://127.0.0.1:${restPort}/switchover`, {
        method: 'POST',
        headers: { authorization },
        body,
      })
      if (answer.status !== 200) throw new Error(`switchover: ${answer.status} ${await answer.text()}`)
    },
    whole,
    log,
  }
}
