import fc from 'fast-check'
import { serialize } from 'pg-protocol'
import { expect, it } from 'vitest'
import { createMessage, type Parameters } from '#src/store/postgres/connection/message.ts'
import { anyText } from '../support/any-text.ts'

type Value = Uint8Array | null

const statement = { name: 'deliver', text: 'SELECT $1' }
const int = (bytes: 1 | 2 | 4 | 8, value: number): Buffer => {
  const buffer = Buffer.alloc(8)
  buffer.writeBigInt64BE(BigInt(value))
  return buffer.subarray(8 - bytes)
}
const orNull = <Item>(items: fc.Arbitrary<Item>) => fc.array(fc.option(items))
const mapped = <Item>(items: readonly (Item | null)[], bytesOf: (item: Item) => Uint8Array): Value[] =>
  items.map((item) => (item === null ? null : bytesOf(item)))

/** An array as PostgreSQL's `array_recv` reads it. */
const arrayOf = (type: number, values: readonly Value[]): Buffer =>
  Buffer.concat([
    ...[1, 1, type, values.length, 1].map((header) => int(4, header)),
    ...values.flatMap((value) => (value === null ? [int(4, -1)] : [int(4, value.length), value])),
  ])

interface Parameter {
  add(parameters: Parameters): void
  readonly value: Value
}

const numbers = (name: 'int2' | 'int4' | 'int8', type: number, bytes: 2 | 4 | 8) => {
  const most = Math.min(2 ** (8 * bytes - 1) - 1, Number.MAX_SAFE_INTEGER)
  return orNull(fc.integer({ min: -most, max: most })).map(
    (values): Parameter => ({
      add: (parameters) => parameters.numbers(name, values),
      value: arrayOf(
        type,
        mapped(values, (value) => int(bytes, value)),
      ),
    }),
  )
}

const anyParameter: fc.Arbitrary<Parameter> = fc.oneof(
  fc.constant<Parameter>({ add: (parameters) => parameters.absent(), value: null }),
  fc.array(fc.uint8Array()).map((parts): Parameter => ({ add: (to) => to.bytes(parts), value: Buffer.concat(parts) })),
  numbers('int2', 21, 2),
  numbers('int4', 23, 4),
  numbers('int8', 20, 8),
  fc.array(fc.boolean()).map(
    (values): Parameter => ({
      add: (to) => to.booleans(values),
      value: arrayOf(
        16,
        values.map((value) => int(1, Number(value))),
      ),
    }),
  ),
  orNull(fc.uuid()).map(
    (values): Parameter => ({
      add: (to) => to.uuids(values),
      value: arrayOf(
        2950,
        mapped(values, (value) => Buffer.from(value.replaceAll('-', ''), 'hex')),
      ),
    }),
  ),
  orNull(fc.uint8Array({ maxLength: 100_000 })).map(
    (values): Parameter => ({
      add: (to) => to.blobs(values),
      value: arrayOf(17, values),
    }),
  ),
  orNull(anyText()).map(
    (values): Parameter => ({
      add: (to) => to.texts(values),
      value: arrayOf(
        25,
        mapped(values, (value) => Buffer.from(value)),
      ),
    }),
  ),
)

/** The parameters of a Bind message: their number, lengths and bytes. The driver names the format of each, and one of results. */
function parametersOf(bind: Buffer, name: string, own: boolean): Buffer {
  const formats = 1 + 4 + 1 + name.length + 1
  const count = bind.readInt16BE(formats)
  return bind.subarray(formats + 2 + 2 * count, bind.length - (own ? 2 : 4))
}

it('a batch is written as the messages that the driver itself writes, also in memory that was used before', () => {
  const message = createMessage()
  fc.assert(
    fc.property(
      fc.array(anyParameter, { minLength: 1, maxLength: 6 }),
      fc.constantFrom('prepare', 'prepared', 'once'),
      (parameters, preparation) => {
        const written = message.write(statement, preparation, (to) => {
          for (const { add } of parameters) add(to)
        })
        const name = preparation === 'once' ? '' : statement.name
        const parse = preparation === 'prepared' ? Buffer.alloc(0) : serialize.parse({ name, text: statement.text })
        const rest = Buffer.concat([serialize.describe({ type: 'P' }), serialize.execute({}), serialize.sync()])
        const own = Buffer.from(written)
        expect(own.subarray(0, parse.length)).toEqual(parse)
        expect(own.subarray(own.length - rest.length)).toEqual(rest)
        const bind = own.subarray(parse.length, own.length - rest.length)
        expect([bind.toString('latin1', 0, 1), bind.readInt32BE(1)]).toEqual(['B', bind.length - 1])
        const values = parameters.map(({ value }) => value && Buffer.from(value))
        const expected = serialize.bind({ statement: name, values })
        expect(parametersOf(bind, name, true)).toEqual(parametersOf(expected, name, false))
      },
    ),
  )
})
