import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

export interface LoadResult {
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
  readonly failed: number
  readonly answered: number
}

export interface Load {
  readonly generator: 'wrk' | 'autocannon'
  /** Deliveries. */
  run(url: string, apiKey: string, connections: number, seconds: number): Promise<LoadResult>
  logIn(url: string, login: Login, connections: number, seconds: number): Promise<LoadResult>
}

export interface Login {
  readonly email: string
  readonly password: string
  /** Each from another address, as a proxy would tell it. */
  readonly fromEverywhere?: boolean
}

/** Deliveries of some 400 bytes; each order gets two, so that half of them change a state that is there. */
export const OTHER_FIELDS = `,"Currency":"TRY","Supplier":{"Name":"Ege Tedarik A.Ş.","TaxNo":"1234567890"},"Products":[{"Sku":"SKU-1001","Quantity":3,"UnitPrice":149.9},{"Sku":"SKU-1002","Quantity":1,"UnitPrice":89.5},{"Sku":"SKU-1003","Quantity":12,"UnitPrice":7.25}],"Note":"Teslimat sabah yapılacak, kapıda ödeme yok, fatura ayrıca gönderilecek."}`

/** The generator runs in a process of its own: wrk where it is installed, autocannon otherwise. */
export async function findLoad(folder: string): Promise<Load> {
  const installed = await run('wrk', ['-v']).then(
    () => true,
    (error: { code?: unknown }) => error.code !== 'ENOENT',
  )
  return installed ? wrk(folder) : autocannon()
}

const LOGIN_PATH = '/Login/Customer/Api/Verify'

function wrk(folder: string): Load {
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
      send(deliveryScript(apiKey), `${url}/Purchase/update`, connections, seconds),
    logIn: (url, login, connections, seconds) => send(loginScript(login), `${url}${LOGIN_PATH}`, connections, seconds),
  }
}

/** Joins texts by itself: wrk.format would take 2 microseconds a request from the cores that the servers share. */
const deliveryScript = (apiKey: string): string => `
local counter = 0
local prefix = '{"OrderID":"PO-${Date.now().toString(36)}-'
local rest = '${OTHER_FIELDS}'
local head
init = function()
  head = 'POST ' .. wrk.path .. ' HTTP/1.1\\r\\nHost: ' .. wrk.host .. ':' .. wrk.port ..
    '\\r\\nApiKey: ${apiKey}\\r\\nContent-Type: application/json\\r\\nContent-Length: '
end
request = function()
  counter = counter + 1
  local body = prefix .. math.floor(counter / 2) .. '","Status":' .. (counter % 2 + 1) .. rest
  return head .. #body .. '\\r\\n\\r\\n' .. body
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

function autocannon(): Load {
  const cli = createRequire(import.meta.url).resolve('autocannon')
  const send = async (
    url: string,
    headers: readonly string[],
    body: string,
    connections: number,
    seconds: number,
  ): Promise<LoadResult> => {
    const fields = ['Content-Type=application/json', ...headers].flatMap((header) => ['-H', header])
    const amount = ['-c', `${connections}`, '-d', `${seconds}`]
    const args = [cli, '-j', '-n', '-I', '-m', 'POST', ...amount, ...fields, '-b', body, url]
    const { stdout } = await run(process.execPath, args, { maxBuffer: 1e8 })
    const { requests, latency, non2xx } = JSON.parse(stdout)
    const { p50, p99 } = latency
    return { perSecond: requests.average, p50, p99, failed: non2xx, answered: requests.total }
  }
  return {
    generator: 'autocannon',
    run: (url, apiKey, connections, seconds) => {
      const body = `{"OrderID":"PO-${Date.now().toString(36)}-[<id>]","Status":1${OTHER_FIELDS}`
      return send(`${url}/Purchase/update`, [`ApiKey=${apiKey}`], body, connections, seconds)
    },
    logIn: (url, login, connections, seconds) => {
      if (login.fromEverywhere) throw new Error('a header of its own for each request needs wrk')
      return send(`${url}${LOGIN_PATH}`, [], loginBody(login), connections, seconds)
    },
  }
}
