import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { bodiesOf, luaBodies, SHAPES, type Shape } from './shapes.ts'

const run = promisify(execFile)

export interface LoadResult {
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
  readonly failed: number
  readonly answered: number
}

export interface MeasuredLoad extends LoadResult {
  /** Processor time of the server for each answer. */
  readonly microseconds: number
}

/** Runs a load and measures what it costs the server. */
export async function measured(server: Processor, run: () => Promise<LoadResult>): Promise<MeasuredLoad> {
  const before = server.cpuMilliseconds()
  const result = await run()
  return { ...result, microseconds: ((server.cpuMilliseconds() - before) * 1000) / result.answered }
}

/** V8 has then compiled what is used most. */
export const WARM_UP_SECONDS = 5

interface Processor {
  cpuMilliseconds(): number
}

export interface Load {
  readonly generator: 'wrk' | 'autocannon'
  /** Deliveries. */
  run(url: string, apiKey: string, connections: number, seconds: number): Promise<LoadResult>
  logIn(url: string, login: Login, connections: number, seconds: number): Promise<LoadResult>
  /** First pages of the feed. */
  feed(url: string, token: string, connections: number, seconds: number): Promise<LoadResult>
}

export interface Login {
  readonly email: string
  readonly password: string
  /** Each from another address, as a proxy would tell it. */
  readonly fromEverywhere?: boolean
}

/** The generator runs in a process of its own: wrk where it is installed, autocannon otherwise. */
export async function findLoad(folder: string, shape: Shape = SHAPES.stream): Promise<Load> {
  const installed = await run('wrk', ['-v']).then(
    () => true,
    (error: { code?: unknown }) => error.code !== 'ENOENT',
  )
  return installed ? wrk(folder, shape) : autocannon(shape)
}

const LOGIN_PATH = '/Login/Customer/Api/Verify'
const FEED_PATH = '/Purchase/feed?limit=20'

function wrk(folder: string, shape: Shape): Load {
  let scripts = 0
  const send = async (lua: string, url: string, connections: number, seconds: number): Promise<LoadResult> => {
    const script = join(folder, `load-${scripts++}.lua`)
    writeFileSync(script, lua)
    const { stdout } = await run('wrk', ['-t1', `-c${connections}`, `-d${seconds}`, '--latency', '-s', script, url])
    const number = (pattern: RegExp): number => Number(pattern.exec(stdout)?.[1] ?? 0)
    const milliseconds = (percent: string): number => {
      const [, value, unit = 'ms'] = new RegExp(`${percent}%\\s+([\\d.]+)(us|ms|s)`).exec(stdout) ?? []
      return Number(value) * ({ us: 0.001, ms: 1, s: 1000 }[unit] ?? 1)
    }
    return {
      perSecond: number(/Requests\/sec:\s+([\d.]+)/),
      p50: milliseconds('50'),
      p99: milliseconds('99'),
      answered: number(/(\d+) requests in/),
      failed: number(/Non-2xx or 3xx responses: (\d+)/),
    }
  }
  return {
    generator: 'wrk',
    run: (url, apiKey, connections, seconds) =>
      send(deliveryScript(apiKey, shape), `${url}/Purchase/update`, connections, seconds),
    logIn: (url, login, connections, seconds) => send(loginScript(login), `${url}${LOGIN_PATH}`, connections, seconds),
    feed: (url, token, connections, seconds) =>
      send(`wrk.headers['Authorization'] = 'Bearer ${token}'`, `${url}${FEED_PATH}`, connections, seconds),
  }
}

/** Joins texts by itself: wrk.format would take 2 microseconds a request from the cores that the servers share. */
const deliveryScript = (apiKey: string, shape: Shape): string => `
${luaBodies(shape, Date.now().toString(36))}
local head
init = function()
  head = 'POST ' .. wrk.path .. ' HTTP/1.1\\r\\nHost: ' .. wrk.host .. ':' .. wrk.port ..
    '\\r\\nApiKey: ${apiKey}\\r\\nContent-Type: application/json\\r\\n'
end
request = function()
  local body, key = delivery()
  local more = key and 'Idempotency-Key: ' .. key .. '\\r\\n' or ''
  return head .. more .. 'Content-Length: ' .. #body .. '\\r\\n\\r\\n' .. body
end
`

const loginBody = ({ email, password }: Login): string => JSON.stringify({ Email: email, Password: password })

const loginScript = (login: Login): string => `
math.randomseed(os.time())
local body = '${loginBody(login)}'
local headers = { ['Content-Type'] = 'application/json' }
request = function()
  ${login.fromEverywhere ? "headers['X-Forwarded-For'] = '10.' .. math.random(0, 255) .. '.' .. math.random(0, 255) .. '.' .. math.random(0, 255)" : ''}
  return wrk.format('POST', nil, headers, body)
end
`

/** Sends each order once, and without idempotency keys. */
function autocannon(shape: Shape): Load {
  const cli = createRequire(import.meta.url).resolve('autocannon')
  const send = async (
    url: string,
    headers: readonly string[],
    body: string | undefined,
    connections: number,
    seconds: number,
  ): Promise<LoadResult> => {
    const fields = ['Content-Type=application/json', ...headers].flatMap((header) => ['-H', header])
    const amount = ['-c', `${connections}`, '-d', `${seconds}`]
    const what = body === undefined ? ['-m', 'GET'] : ['-I', '-m', 'POST', '-b', body]
    const args = [cli, '-j', '-n', ...what, ...amount, ...fields, url]
    const { stdout } = await run(process.execPath, args, { maxBuffer: 1e8 })
    const { requests, latency, non2xx } = JSON.parse(stdout)
    const { p50, p99 } = latency
    return { perSecond: requests.average, p50, p99, failed: non2xx, answered: requests.total }
  }
  return {
    generator: 'autocannon',
    run: (url, apiKey, connections, seconds) => {
      const { text } = bodiesOf(shape, `${Date.now().toString(36)}-[<id>]`)()
      return send(`${url}/Purchase/update`, [`ApiKey=${apiKey}`], text, connections, seconds)
    },
    logIn: (url, login, connections, seconds) => {
      if (login.fromEverywhere) throw new Error('a header of its own for each request needs wrk')
      return send(`${url}${LOGIN_PATH}`, [], loginBody(login), connections, seconds)
    },
    feed: (url, token, connections, seconds) =>
      send(`${url}${FEED_PATH}`, [`Authorization=Bearer ${token}`], undefined, connections, seconds),
  }
}
