// Receives the webhooks of teslim: checks the signature, stores the delivery, and only then answers. Needs Node 18.17 or later and
// nothing else. README.md in this folder explains the environment variables and what to take over.
//
//   WEBHOOK_SECRET=whsec_... PORT=8080 node receive.mjs
import { createHmac, timingSafeEqual } from 'node:crypto'
import { existsSync, mkdirSync } from 'node:fs'
import { open, rename } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'

const { WEBHOOK_SECRET = '', WEBHOOK_INBOX: inbox = 'inbox', PORT = '8080' } = process.env
const TOLERANCE_SECONDS = 300
const MOST_BYTES = 10_000_000
// Several while a secret is being replaced, separated by spaces.
const keys = WEBHOOK_SECRET.split(' ')
  .filter((secret) => secret.startsWith('whsec_'))
  .map((secret) => Buffer.from(secret.slice('whsec_'.length), 'base64'))
if (keys.length === 0) throw new Error('WEBHOOK_SECRET is not set: it begins with whsec_')
mkdirSync(inbox, { recursive: true, mode: 0o700 })

const NAME = /^[\w-][\w.-]{0,99}$/
let stored = 0

/** Returns the status to answer with. */
async function receive({ headers, body }) {
  const id = headers['webhook-id'] ?? ''
  if (!isSigned(id, headers, body)) return 401
  if (!NAME.test(id)) return 400
  const { type, data } = JSON.parse(body)
  // A test of an operator. Other types may come in a later version: they are none of our business.
  if (type !== 'delivery.received') return 204
  // An order id is unique only within its customer: another supplier may use the same. So each customer has a folder.
  if (!NAME.test(data.CustomerID)) return 400
  const folder = join(inbox, data.CustomerID)
  mkdirSync(join(folder, 'done'), { recursive: true, mode: 0o700 })
  // A repeat: an earlier answer was lost, or an operator asked for it.
  if (existsSync(join(folder, `${id}.json`)) || existsSync(join(folder, 'done', `${id}.json`))) return 204
  const name = join(folder, `.${process.pid}-${stored++}`)
  const file = await open(name, 'wx', 0o600)
  await file.writeFile(body)
  await file.sync()
  await file.close()
  await rename(name, join(folder, `${id}.json`))
  return 204
}

/** Checks the bytes as they came: JSON that was read and written again is other bytes. */
function isSigned(id, headers, body) {
  const timestamp = headers['webhook-timestamp'] ?? ''
  // An old message may have been recorded by somebody else.
  if (!(Math.abs(Date.now() / 1000 - Number(timestamp || Number.NaN)) <= TOLERANCE_SECONDS)) return false
  const sent = (headers['webhook-signature'] ?? '')
    .split(' ')
    .filter((each) => each.startsWith('v1,'))
    .map((each) => Buffer.from(each.slice('v1,'.length), 'base64'))
  const expected = keys.map((key) => createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest())
  return expected.some((one) => sent.some((other) => other.length === one.length && timingSafeEqual(other, one)))
}

createServer(async (request, response) => {
  const answer = (status) => response.writeHead(status).end()
  try {
    if (request.method !== 'POST') return answer(405)
    const chunks = []
    let length = 0
    for await (const chunk of request) {
      chunks.push(chunk)
      length += chunk.length
      if (length > MOST_BYTES) return answer(413)
    }
    answer(await receive({ headers: request.headers, body: Buffer.concat(chunks) }))
  } catch (error) {
    // teslim tries again later.
    console.error(error.message)
    answer(500)
  }
}).listen(Number(PORT), '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${PORT}`))
