import { ask } from '../../../support/app/ask.ts'
import { fractions } from '../../../support/random.ts'
import { pace } from '../../../support/until.ts'
import { type Reader, reading } from './followers.ts'
import type { Supplier } from './suppliers.ts'

const SCRAPE_MILLISECONDS = 500
const LOGIN_MILLISECONDS = 400
const REFUSED_MILLISECONDS = 200
const READ_MILLISECONDS = 100

/** Asks for the metrics of each server, as Prometheus does. */
export async function scrapeAll({ judge, replicas, abort }: Reader): Promise<void> {
  while (!abort.aborted) {
    for (const { opsUrl } of replicas) {
      const url = opsUrl()
      if (url === undefined) continue
      const answer = await ask(`${url}/metrics`, { method: 'GET', headers: {}, signal: abort }).catch(() => undefined)
      if (answer === undefined) continue
      if (answer.status !== 200 || !/^teslim_ready [01]$/m.test(answer.body))
        judge.problem(`/metrics was answered ${answer.status}: ${answer.body.slice(0, 500)}`)
    }
    await pace(SCRAPE_MILLISECONDS)
  }
}

/** Right and wrong passwords, the wrong ones from many addresses. */
export async function logInAndOut({ judge, replicas, abort }: Reader, suppliers: readonly Supplier[]): Promise<void> {
  const draw = fractions('logins')
  for (let number = 0; !abort.aborted; number++) {
    const supplier = suppliers[Math.floor(draw() * suppliers.length)] as Supplier
    const isRight = draw() < 0.5
    const [mayBeRefused, denials] = [supplier.mayBeRefused(), supplier.denials()]
    const { email, password } = supplier.account
    const answer = await ask(`${replicas[number % replicas.length]?.url}/Login/Customer/Api/Verify`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-forwarded-for': isRight ? '198.51.100.7' : `203.0.113.${number % 250}`,
      },
      body: JSON.stringify({ Email: email, Password: isRight ? password : `${password} not` }),
      signal: abort,
    }).catch(() => undefined)
    const usual = isRight ? [200, 503, ...(mayBeRefused || supplier.denials() > denials ? [400] : [])] : [400, 429, 503]
    if (answer !== undefined && !usual.includes(answer.status))
      judge.problem(`a login with a ${isRight ? 'right' : 'wrong'} password: ${answer.status} ${answer.body}`)
    await pace(LOGIN_MILLISECONDS)
  }
}

/** Deliveries with a Status that does not exist, whose bodies the store keeps for the operator. */
export async function deliverRefused(
  { judge, replicas, abort }: Reader,
  suppliers: readonly Supplier[],
): Promise<void> {
  for (let number = 0; !abort.aborted; number++) {
    const supplier = suppliers[number % suppliers.length] as Supplier
    const answer = await ask(`${replicas[number % replicas.length]?.url}/Purchase/update`, {
      method: 'POST',
      headers: { ApiKey: supplier.account.key },
      body: `{"OrderID":"refused-${number}","Status":9}`,
      signal: abort,
    }).catch(() => undefined)
    if (answer !== undefined && ![400, 401, 503].includes(answer.status))
      judge.problem(`a delivery with Status 9 was answered ${answer.status}: ${answer.body}`)
    await pace(REFUSED_MILLISECONDS)
  }
}

/** What has a receipt can be read at once, at every server. */
export function readBack(reader: Reader): Promise<void> {
  const draw = fractions('reads')
  return reading('a read', reader, async (url, headers) => {
    const receipts = [...reader.judge.acknowledged.keys()].slice(-1000)
    const receipt = receipts[Math.floor(draw() * receipts.length)]
    const others = ['/Customer/Get', '/Purchase/list?order=newest&limit=50']
    const path = draw() < 0.7 && receipt ? `/Purchase/delivery/${receipt}` : others[Math.floor(draw() * others.length)]
    const answer = await ask(url + path, { method: 'GET', headers, signal: reader.abort })
    if (answer.status !== 200) return { ...answer, body: `${path}: ${answer.body}` }
    await pace(READ_MILLISECONDS)
    return
  })
}
