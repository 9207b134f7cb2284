import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, it, onTestFinished } from 'vitest'
import { fetch } from '../support/app/checked-fetch.ts'
import { parseAnswers } from '../support/app/raw-http.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { until } from '../support/until.ts'

const ROOT = join(import.meta.dirname, '../..')

/** Runs a command that starts the server, in a process group of its own, as a shell on a terminal does. */
async function start([command = '', ...args]: readonly string[], more: Record<string, string> = {}) {
  const folder = tempFolder()
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: folder,
    NODE_ENV: 'test',
    PORT: '0',
    TESLIM_OPS_PORT: '0',
    TESLIM_SHUTDOWN_SECONDS: '600',
    DATABASE_URL: `sqlite:${join(folder, 'teslim.db')}`,
    ...more,
  }
  const child = spawn(command, args, { cwd: ROOT, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  const pid = child.pid ?? 0
  const ended = once(child, 'exit')
  const toAll = (signal: NodeJS.Signals) => process.kill(-pid, signal)
  let isOver = false
  onTestFinished(() => void (isOver || toAll('SIGKILL')))
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (part) => (output += part))
  const address = /listening on http:\/\/127\.0\.0\.1:(\d+)"/
  await until('it listens', () => address.test(output))
  const port = Number(address.exec(output)?.[1])
  // The server has the same output, so this comes when it has ended, too.
  const over = once(child, 'close').then(() => {
    isOver = true
  })
  return { child, port, over, ended, toAll, isOver: () => isOver, output: () => output }
}

type Started = Awaited<ReturnType<typeof start>>

const isRefused = ({ port }: Started): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(false)
    })
    socket.on('error', () => resolve(true))
  })

/** A request that has reached the server, but for its last byte; resolves to a function that sends it and resolves to the answer. */
async function halfSent({ port }: Started) {
  const socket = connect(port, '127.0.0.1')
  const answer = text(socket)
  const head = 'POST /Login/Customer/Api/Verify HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n'
  socket.write(`${head}Expect: 100-continue\r\nContent-Length: 2\r\n\r\n`)
  await once(socket, 'readable')
  socket.write('{')
  return async () => {
    socket.write('}')
    return parseAnswers((await answer).replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, ''))
  }
}

const stops = (output: string) => output.match(/"msg":"stopping/g)?.length

const commands = [
  ['npm', 'start'],
  ['npx', 'teslim', 'serve'],
]
/** dash waits for the server, bash replaces itself by it. */
const shells = ['/bin/sh', '/bin/bash'].filter(existsSync)
const cases = commands.flatMap((command) =>
  shells.flatMap((shell) => (['SIGTERM', 'SIGKILL'] as const).map((signal) => ({ command, shell, signal }))),
)

describe.each(cases)('$command over $shell', ({ command, shell, signal }) => {
  it(`that gets ${signal} takes its server with it: the port is free, and requests in flight are answered`, async () => {
    const started = await start(command, { npm_config_script_shell: shell })
    const finish = await halfSent(started)
    started.child.kill(signal)
    await until('the port is free', () => isRefused(started), { milliseconds: 2000 })
    expect(await finish()).toMatchObject([{ status: 400 }])
    await started.over
    expect(started.output()).toMatch(
      /"reason":"(?:npm has ended|SIGTERM)","msg":"stopping.*\n(?:.*\n)*.*"msg":"stopped"/,
    )
    expect(stops(started.output())).toBe(1)
  })
})

it('Ctrl+C, which npm passes on too, stops the server of npm start once, in order', async () => {
  const started = await start(['npm', 'start'])
  const finish = await halfSent(started)
  started.toAll('SIGINT')
  await until('the port is free', () => isRefused(started))
  expect(await finish()).toMatchObject([{ status: 400 }])
  await started.over
  expect(stops(started.output())).toBe(1)
  expect(started.output()).toMatch(/"reason":"SIGINT","msg":"stopping.*\n(?:.*\n)*.*"msg":"stopped"/)
})

/** Longer than it takes to see that npm has ended. */
async function outlives(started: Started): Promise<void> {
  const since = performance.now()
  await until('it was looked for', () => performance.now() > since + 1500)
  expect((await fetch(`http://127.0.0.1:${started.port}/livez`)).status).toBe(200)
  expect([started.isOver(), stops(started.output())]).toEqual([false, undefined])
}

describe('a server that is meant to outlive what started it', () => {
  it('does, when a terminal that is closed takes npm with it, but not what nohup runs', async () => {
    const started = await start(['nohup', 'npm', 'start'])
    started.toAll('SIGHUP')
    await started.ended
    await outlives(started)
  })

  it('does, when a script of npm starts it in the background', async () => {
    const script = 'node bin/teslim.js serve &'
    const path = `${join(ROOT, 'node_modules/.bin')}:${process.env.PATH}`
    const started = await start(['sh', '-c', script], { npm_lifecycle_script: script, PATH: path })
    await started.ended
    await outlives(started)
  })
})
