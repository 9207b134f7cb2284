// Reports the Status of a purchase order, retrying until it is confirmed: node deliver.mjs [ORDER [VERSION [FILE]]]
// A delivery that cannot be sent now stays in a folder, and the next run sends it first. Needs Node 18.17 or later and nothing
// else. README.md in this folder explains the environment variables and the exit statuses.
import { createHash, randomBytes } from 'node:crypto'
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const ATTEMPTS = 4
const TIMEOUT_SECONDS = 20
const LONGEST_RETRY_AFTER_SECONDS = 60

/** The delivery stays in the spool folder. `retryLater` says whether another run may succeed without any change. */
class NotSent extends Error {
  constructor(message, retryLater = false) {
    super(message)
    this.retryLater = retryLater
  }
}
/** The service refused this delivery, and would refuse it again. */
class Refused extends Error {}

async function main() {
  const baseUrl = setting('SUPPLIER_BASE_URL').replace(/\/+$/, '')
  if (!/^(https:\/\/|http:\/\/(127\.0\.0\.1|localhost)(:\d+)?$)/.test(baseUrl))
    throw new NotSent('SUPPLIER_BASE_URL must begin with https://, or the key would cross the network unencrypted')
  const apiKey = setting('SUPPLIER_API_KEY')
  if (!/^[\x21-\x7e]+$/.test(apiKey)) throw new NotSent('SUPPLIER_API_KEY has characters that no key has')
  const spool = process.env.SUPPLIER_SPOOL || 'spool'
  mkdirSync(join(spool, 'refused'), { recursive: true, mode: 0o700 })

  const [order = `PO-${randomBytes(4).toString('hex')}`, version = '1', file] = process.argv.slice(2)
  const example = { OrderID: order, Status: 2, Products: [{ Sku: 'SKU-1', Quantity: 3 }] }
  put(spool, order, version, file ? readFileSync(file) : JSON.stringify(example))
  for (const name of waiting(spool)) {
    const path = join(spool, name)
    const body = unlessGone(() => readFileSync(path))
    if (body === undefined) continue
    try {
      console.log(JSON.stringify(await deliver(`${baseUrl}/Purchase/update`, apiKey, keyOf(name), body)))
      rmSync(path, { force: true })
    } catch (error) {
      if (!(error instanceof Refused)) {
        error.message += `\nDeliveries waiting in ${spool}: ${waiting(spool).length}. The next run sends them first.`
        throw error
      }
      // Set aside, or it would hold up every delivery behind it.
      console.error(`${error.message}; set aside in ${join(spool, 'refused')}`)
      writeFileSync(join(spool, 'refused', `${name}.reason.txt`), `${error.message}\n`)
      unlessGone(() => renameSync(path, join(spool, 'refused', name)))
      process.exitCode = 1
    }
  }
}

function setting(name) {
  const value = process.env[name]
  if (!value) throw new NotSent(`${name} is not set`)
  return value
}

/**
 * Stores a delivery behind those that wait. Its Idempotency-Key is a hash of order and version, so it is the same in every
 * attempt, after a crash and on any machine, and the service counts the delivery once. A change of the order needs a new version.
 */
function put(spool, order, version, body) {
  const key = createHash('sha256').update(`${order}\n${version}`).digest('hex')
  const number = Number.parseInt(waiting(spool).at(-1) ?? '0', 10) + 1
  const path = join(spool, `${String(number).padStart(8, '0')}-${key}.json`)
  const part = `${path}.${process.pid}.new`
  writeFileSync(part, body)
  sync(part)
  // A rename happens completely or not at all: no run ever sees half a delivery.
  renameSync(part, path)
  // Windows cannot sync a folder: after a power cut there the newest delivery may be missing.
  if (process.platform !== 'win32') sync(spool)
}

/** Waits until a file or folder is on the disk, where a power cut does not lose it. */
function sync(path) {
  const file = openSync(path, process.platform === 'win32' ? 'r+' : 'r')
  fsyncSync(file)
  closeSync(file)
}

/** Returns undefined if the file is gone: another run sent it, or set it aside. */
function unlessGone(action) {
  try {
    return action()
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
  }
}

/** The names in the spool folder, oldest first: NUMBER-KEY.json */
const waiting = (spool) =>
  readdirSync(spool)
    .filter((name) => name.endsWith('.json'))
    .sort()
const keyOf = (name) => name.slice(9, -5)

/** Returns the receipt. */
async function deliver(url, apiKey, idempotencyKey, body) {
  const headers = { 'Content-Type': 'application/json', ApiKey: apiKey, 'Idempotency-Key': idempotencyKey }
  for (let attempt = 1; ; attempt++) {
    let retryAfter = 0
    let problem
    try {
      const signal = AbortSignal.timeout(TIMEOUT_SECONDS * 1000)
      // A redirect is not followed: the key goes to no other address.
      const response = await fetch(url, { method: 'POST', headers, body, redirect: 'manual', signal })
      const text = await response.text()
      const receipt = response.status === 200 && receiptIn(text)
      if (receipt) return receipt
      problem = describe(response.status, text)
      retryAfter = secondsOf(response.headers.get('retry-after'))
      if (response.status >= 300 && response.status < 500 && ![408, 425, 429].includes(response.status))
        throw failure(response.status, problem)
    } catch (error) {
      if (error instanceof NotSent || error instanceof Refused) throw error
      const { code, message } = error.cause ?? error
      // A wrong certificate stays wrong: retrying does not help.
      if (/CERT|UNABLE_TO_/.test(code)) throw new NotSent(`no trusted certificate: ${message} (${code})`)
      problem = `no answer: ${message || code}`
    }
    if (attempt === ATTEMPTS || retryAfter > LONGEST_RETRY_AFTER_SECONDS)
      throw new NotSent(`not confirmed after ${attempt} attempts: ${problem}`, true)
    // A random part, so that clients that failed together do not come back together.
    const wait = retryAfter + Math.random() * 2 ** (attempt - 1)
    console.error(`${problem}; trying again in ${wait.toFixed(1)} s`)
    await sleep(wait * 1000)
  }
}

/** A redirect, 401 and 404 mean a wrong key or address, which every delivery would meet. Other answers concern this one. */
const failure = (status, problem) =>
  status < 400 || status === 401 || status === 404 ? new NotSent(problem) : new Refused(problem)

/** Returns the receipt that an answer contains. The login page of a Wi-Fi network, also a 200, contains none. */
function receiptIn(text) {
  try {
    const { data } = JSON.parse(text)
    if (data?.ReceiptID) return data
  } catch {}
}

function describe(status, text) {
  try {
    const { errorCode, message, requestId } = JSON.parse(text)
    if (errorCode) return `${status} ${errorCode}: ${message} (request ${requestId})`
  } catch {}
  return `${status}, and the answer is not from the service`
}

/** Reads Retry-After, which is a number of seconds or a date. */
function secondsOf(retryAfter) {
  const seconds = /^\d+$/.test(retryAfter) ? Number(retryAfter) : (Date.parse(retryAfter) - Date.now()) / 1000
  return Math.max(0, seconds || 0)
}

main().catch((error) => {
  console.error(error.message)
  process.exitCode ||= error.retryLater ? 75 : 1
})
