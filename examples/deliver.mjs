// Logs in and delivers a purchase order, trying again until it is confirmed: node deliver.mjs [FILE]
// Needs Node 18.17 or later and nothing else. README.md in this folder says what it reads from the environment.
import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'

const ATTEMPTS = 6
const TIMEOUT_SECONDS = 20
const LONGEST_RETRY_AFTER_SECONDS = 60
const RETRIED = [429, 502, 503, 504]
const EXAMPLE = '{"OrderID":"PO-1","Status":2,"Products":[{"Sku":"SKU-1","Quantity":3}]}'

class Failure extends Error {}

function setting(name) {
  const value = process.env[name]
  if (!value) throw new Failure(`${name} is not set`)
  return value
}

async function main() {
  const baseUrl = setting('SUPPLIER_BASE_URL').replace(/\/+$/, '')
  if (!/^(https:\/\/|http:\/\/(127\.0\.0\.1|localhost)(:\d+)?$)/.test(baseUrl))
    throw new Failure('SUPPLIER_BASE_URL must begin with https://, or a password would cross the network in the clear')
  const login = { Email: setting('SUPPLIER_EMAIL'), Password: setting('SUPPLIER_PASSWORD') }
  const apiKey = setting('SUPPLIER_API_KEY')
  if (!/^[\x21-\x7e]+$/.test(apiKey)) throw new Failure('SUPPLIER_API_KEY has characters that no key has')
  const file = process.argv[2]
  const order = file ? await readFile(file) : EXAMPLE

  const { Token } = await send(
    `${baseUrl}/Login/Customer/Api/Verify`,
    { 'Content-Type': 'application/json', 'h-region-code': 'TR' },
    JSON.stringify(login),
  )
  // Made once for a delivery, not for each attempt: by it the server knows a delivery that it has already. Keep it with your
  // order if your program may be restarted before the answer comes.
  const idempotencyKey = randomUUID()
  const receipt = await send(
    `${baseUrl}/Purchase/update`,
    {
      'Content-Type': 'application/json',
      ApiKey: apiKey,
      Authorization: `Bearer ${Token}`,
      'Idempotency-Key': idempotencyKey,
    },
    order,
  )
  console.log(JSON.stringify(receipt))
}

/** The `data` of the answer. */
async function send(url, headers, body) {
  for (let attempt = 1; ; attempt++) {
    let retryAfter = 0
    let problem
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers,
        body,
        redirect: 'manual', // never hand the key to another address
        signal: AbortSignal.timeout(TIMEOUT_SECONDS * 1000),
      })
      const text = await response.text()
      if (response.ok) return JSON.parse(text).data
      problem = describe(response.status, text)
      if (!RETRIED.includes(response.status)) throw new Failure(problem)
      retryAfter = secondsOf(response.headers.get('retry-after'))
    } catch (error) {
      if (error instanceof Failure) throw error
      problem = `no answer (${error.cause?.code ?? error.name})`
    }
    if (attempt === ATTEMPTS || retryAfter > LONGEST_RETRY_AFTER_SECONDS)
      throw new Failure(`not confirmed after ${attempt} attempts: ${problem}`)
    // A random part, so that all who failed together do not come back together.
    const wait = retryAfter + Math.random() * 2 ** (attempt - 1)
    console.error(`${problem}; trying again in ${wait.toFixed(1)} s`)
    await sleep(wait * 1000)
  }
}

function describe(status, text) {
  try {
    const { errorCode, message, requestId } = JSON.parse(text)
    return `${status} ${errorCode}: ${message} (request ${requestId})`
  } catch {
    return `${status}, and not in the service's own words`
  }
}

/** Of a Retry-After header, which is a number of seconds or a date. */
function secondsOf(retryAfter) {
  const seconds = /^\d+$/.test(retryAfter) ? Number(retryAfter) : (Date.parse(retryAfter) - Date.now()) / 1000
  return Math.max(0, seconds || 0)
}

main().catch((error) => {
  console.error(error instanceof Failure || error.code === 'ENOENT' ? error.message : error.name)
  process.exitCode = 1
})
