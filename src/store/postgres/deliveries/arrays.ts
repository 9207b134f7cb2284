/** Arrays in PostgreSQL's binary format (its src/backend/utils/adt/arrayfuncs.c). The driver sends a Buffer as it is. */
type Encode<Value> = (values: readonly (Value | null)[]) => Buffer

const HEADER_BYTES = 20
const NULL = -1
const TWO_TO_32 = 2 ** 32

const arrays =
  <Value>(
    oid: number,
    bytesOf: (value: Value) => number,
    write: (into: Buffer, value: Value, at: number) => unknown,
  ): Encode<Value> =>
  (values) => {
    const sizes = values.map((value) => (value === null ? NULL : bytesOf(value)))
    const buffer = Buffer.allocUnsafe(sizes.reduce((sum, size) => sum + 4 + Math.max(0, size), HEADER_BYTES))
    // One dimension, which may hold NULL, of this type and length, counted from 1.
    for (const [index, value] of [1, 1, oid, values.length, 1].entries()) buffer.writeInt32BE(value, 4 * index)
    let at = HEADER_BYTES
    for (const [index, value] of values.entries()) {
      const size = sizes[index] as number
      at = buffer.writeInt32BE(size, at)
      if (value === null) continue
      write(buffer, value, at)
      at += size
    }
    return buffer
  }

const fixed = <Value>(oid: number, bytes: number, write: (into: Buffer, value: Value, at: number) => unknown) =>
  arrays(oid, () => bytes, write)

export const booleans = fixed<boolean>(16, 1, (into, value, at) => into.writeInt8(Number(value), at))
export const int2s = fixed<number>(21, 2, (into, value, at) => into.writeInt16BE(value, at))
export const int4s = fixed<number>(23, 4, (into, value, at) => into.writeInt32BE(value, at))
export const int8s = fixed<number>(20, 8, (into, value, at) => {
  into.writeInt32BE(Math.floor(value / TWO_TO_32), at)
  into.writeUInt32BE(value % TWO_TO_32, at + 4)
})
export const uuids = fixed<string>(2950, 16, (into, value, at) => into.write(value.replaceAll('-', ''), at, 'hex'))
export const texts = arrays<string>(25, Buffer.byteLength, (into, value, at) => into.write(value, at))
export const blobs = arrays<Uint8Array>(
  17,
  ({ length }) => length,
  (into, value, at) => into.set(value, at),
)
