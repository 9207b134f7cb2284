import { once } from 'node:events'
import { createServer } from 'node:net'
import { afterAll, describe, expect, it } from 'vitest'
import { type Balancer, nginxInstalled, startBalancer } from '../support/network/balancer.ts'
import { runSql } from '../support/postgres/postgres-server.ts'
import { newPostgresStore } from '../support/postgres/postgres-session.ts'
import { runCommand } from '../support/processes/command.ts'
import { deliver } from '../support/processes/ledger.ts'
import { type ServerProcess, serve } from '../support/processes/process.ts'
import { randomBelow } from '../support/random.ts'
import { tempFolder } from '../support/temp-folder.ts'

if (!nginxInstalled) console.info('the rolling restart is not tested: nginx is not installed')

/** Returns a free port below the range of outgoing connections, so that none takes it while a replica restarts. */
async function steadyPort(): Promise<number> {
  for (;;) {
    const port = 20_000 + randomBelow(12_000)
    const server = createServer().listen(port, '127.0.0.1')
    const free = await once(server, 'listening').catch(() => undefined)
    if (free === undefined) continue
    await new Promise((resolve) => server.close(resolve))
    return port
  }
}

describe.runIf(nginxInstalled)('a rolling restart behind the balancer', () => {
  let balancer: Balancer | undefined
  afterAll(() => balancer?.stop())

  it('loses no delivery and refuses none', async () => {
    const databaseUrl = await newPostgresStore()
    const where = { cwd: tempFolder(), env: { NODE_ENV: 'production', DATABASE_URL: databaseUrl } }
    await runCommand(['customer', 'add', '--email', 'a@b.co', '--allow', '*', '--generate'], where)
    const issued = await runCommand(['key', 'issue', '--customer', 'a@b.co', '--json'], where)
    const { key } = JSON.parse(issued.stdout)
    const ports = [await steadyPort(), await steadyPort()]
    const start = (port: number): Promise<ServerProcess> =>
      serve({ ...where, env: { ...where.env, PORT: String(port) } })
    const replicas = await Promise.all(ports.map(start))
    balancer = await startBalancer(ports)
    const load = deliver({ url: balancer.url, key })
    await load.more(100)
    for (const [index, port] of ports.entries()) {
      const old = replicas[index] as ServerProcess
      old.child.kill('SIGTERM')
      expect(await old.ended).toBe(0)
      const replica = await start(port)
      replicas[index] = replica
      // The balancer avoids a replica that it found stopped for two seconds: stopping the other one now would leave none.
      await replica.printed(/"route":"\/Purchase\/update","status":200/)
      await load.more(100)
    }
    await load.stop()

    expect([...load.others]).toEqual([])
    const rows = await runSql(databaseUrl, 'SELECT receipt FROM delivery')
    expect(new Set(rows.map(({ receipt }) => receipt))).toEqual(
      new Set(load.acknowledged.map(({ receipt }) => receipt)),
    )
    expect(rows).toHaveLength(load.acknowledged.length)
  })
})
