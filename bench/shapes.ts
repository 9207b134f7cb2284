/** What deliveries look like: how large their bodies are, and how often the same orders come again. */
export interface Shape {
  readonly description: string
  /** What follows order id and status in the bodies, in turn. */
  readonly rests: readonly string[]
  /** Deliveries of one order that follow each other. */
  readonly inARow: number
  /** How many orders there are; after the last one the first one comes again, and each run has the same. `ENDLESS`: each has new ones. */
  readonly orders: number
  /** How far an order's number is from that of the order before it. */
  readonly stride: number
  /** Each order goes through the statuses from `firstStatus` on. */
  readonly firstStatus: number
  readonly statuses: number
  /** One in so many is sent with an idempotency key; 0 for none. */
  readonly keyedEvery: number
  /** One in so many repeats the delivery before it, byte for byte; 0 for none. */
  readonly echoEvery: number
}

const ENDLESS = 1e9

const product = (number: number): string =>
  `{"Sku":"SKU-${1000 + number}","Quantity":${1 + (number % 12)},"UnitPrice":${7.25 + number}}`
const products = (count: number): string => Array.from({ length: count }, (_, number) => product(number)).join()

const NOTE = 'Teslimat sabah yapılacak, kapıda ödeme yok, fatura ayrıca gönderilecek.'
const SUPPLIER = '"Currency":"TRY","Supplier":{"Name":"Ege Tedarik A.Ş.","TaxNo":"1234567890"}'

/** Some 400 bytes together with order id and status. */
export const OTHER_FIELDS = `,${SUPPLIER},"Products":[${products(3)}],"Note":"${NOTE}"}`
/** Some 230 bytes. The escape takes a way of its own through the reader of bodies. */
const SHORT = `,"Products":[${products(2)}],"Note":"Kat 3, \\"arka kap\\u0131\\", zili \\u00e7al\\u0131n."}`
const lines = (count: number): string => `,${SUPPLIER},"Products":[${products(count)}],"Note":"${NOTE}"}`

const BASE = { inARow: 1, orders: 30_000, stride: 7919, firstStatus: 0, statuses: 4, keyedEvery: 0, echoEvery: 0 }

export const SHAPES = {
  stream: {
    ...BASE,
    description: 'new orders of 400 bytes, two deliveries each',
    rests: [OTHER_FIELDS],
    inARow: 2,
    orders: ENDLESS,
    stride: 1,
    firstStatus: 1,
    statuses: 2,
  },
  orders: {
    ...BASE,
    description: '30,000 orders of 230 bytes with an escape, from all over the store, again and again',
    rests: [SHORT],
  },
  large: {
    ...BASE,
    description: 'new orders of 8,000 bytes with 130 products, two deliveries each',
    rests: [lines(130)],
    inARow: 2,
    orders: ENDLESS,
    stride: 1,
  },
  mixed: {
    ...BASE,
    description:
      '30,000 orders of 230 to 8,000 bytes; one in 4 with an idempotency key, one in 20 repeats the one before',
    rests: [
      SHORT,
      OTHER_FIELDS,
      SHORT,
      OTHER_FIELDS,
      SHORT,
      lines(30),
      SHORT,
      OTHER_FIELDS,
      SHORT,
      OTHER_FIELDS,
      SHORT,
      lines(130),
    ],
    keyedEvery: 4,
    echoEvery: 20,
  },
} satisfies Record<string, Shape>

export type ShapeName = keyof typeof SHAPES

export interface Body {
  readonly text: string
  readonly idempotencyKey: string | undefined
}

const orderPrefix = ({ orders }: Shape, run: string): string => (orders === ENDLESS ? `PO-${run}-` : 'PO-')

/** Returns the bodies of a run, one a call. */
export function bodiesOf(shape: Shape, run: string): () => Body {
  const { rests, inARow, orders, stride, firstStatus, statuses, keyedEvery, echoEvery } = shape
  const prefix = orderPrefix(shape, run)
  let count = 0
  let text = ''
  return () => {
    const step = Math.floor(count / inARow)
    const order = (step * stride) % orders
    const status = firstStatus + ((inARow > 1 ? count : Math.floor(step / orders)) % statuses)
    const isEcho = echoEvery > 0 && count % echoEvery === echoEvery - 1
    if (!isEcho) text = `{"OrderID":"${prefix}${order}","Status":${status}${rests[count % rests.length]}`
    const isKeyed = keyedEvery > 0 && count % keyedEvery === 0
    count++
    return { text, idempotencyKey: isKeyed ? `${run}-${count}` : undefined }
  }
}

/** The same in Lua: a function `delivery()` that returns a body and its idempotency key. */
export function luaBodies(shape: Shape, run: string): string {
  const { rests, inARow, orders, stride, firstStatus, statuses, keyedEvery, echoEvery } = shape
  // In a long string of Lua nothing is escaped.
  return `
local rests = {${rests.map((rest) => `[==[${rest}]==]`).join()}}
local count, text = 0, ''
local floor = math.floor
local function delivery()
  local step = ${inARow === 1 ? 'count' : `floor(count / ${inARow})`}
  local order = (step * ${stride}) % ${orders}
  local status = ${firstStatus} + ${inARow > 1 ? 'count' : `floor(step / ${orders})`} % ${statuses}
  if ${echoEvery === 0 ? 'true' : `count % ${echoEvery} ~= ${echoEvery - 1}`} then
    text = '{"OrderID":"${orderPrefix(shape, run)}' .. order .. '","Status":' .. status .. rests[count % ${rests.length} + 1]
  end
  local key = ${keyedEvery === 0 ? 'nil' : `count % ${keyedEvery} == 0 and '${run}-' .. (count + 1) or nil`}
  count = count + 1
  return text, key
end
`
}
