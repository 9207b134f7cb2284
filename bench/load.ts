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
  run(url: string, apiKey: string, connections: number, seconds: number): Promise<LoadResult>
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

function wrk(folder: string): Load {
  return {
    generator: 'wrk',
    async run(url, apiKey, connections, seconds) {
      const script = join(folder, 'load.lua')
      writeFileSync(script, luaScript(apiKey))
      const args = ['-t1', `-c${connections}`, `-d${seconds}`, '--latency', '-s', script, `${url}/Purchase/update`]
      const { stdout } = await run('wrk', args)
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
    },
  }
}

const luaScript = (apiKey: string): string => `
local counter = 0
local prefix = '{"OrderID":"PO-${Date.now().toString(36)}-'
local rest = '${OTHER_FIELDS}'
local headers = { ['ApiKey'] = '${apiKey}', ['Content-Type'] = 'application/json' }
request = function()
  counter = counter + 1
  local body = prefix .. math.floor(counter / 2) .. '","Status":' .. (counter % 2 + 1) .. rest
  return wrk.format('POST', nil, headers, body)
end
`

function autocannon(): Load {
  const cli = createRequire(import.meta.url).resolve('autocannon')
  return {
    generator: 'autocannon',
    async run(url, apiKey, connections, seconds) {
      const body = `{"OrderID":"PO-${Date.now().toString(36)}-[<id>]","Status":1${OTHER_FIELDS}`
      const headers = ['-H', `ApiKey=${apiKey}`, '-H', 'Content-Type=application/json']
      const args = [
        cli,
        '-j',
        '-n',
        '-I',
        '-m',
        'POST',
        '-c',
        `${connections}`,
        '-d',
        `${seconds}`,
        ...headers,
        '-b',
        body,
      ]
      const { stdout } = await run(process.execPath, [...args, `${url}/Purchase/update`], { maxBuffer: 1e8 })
      const { requests, latency, non2xx } = JSON.parse(stdout)
      const { p50, p99 } = latency
      return { perSecond: requests.average, p50, p99, failed: non2xx, answered: requests.total }
    },
  }
}
