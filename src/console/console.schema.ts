import { Type } from '@sinclair/typebox'

const orNull = (number: number, description: string) =>
  Type.Union([Type.Number({ examples: [number] }), Type.Null()], { description })

export const LatencySchema = {
  P50Ms: orNull(1.9, 'Half of the deliveries were answered within so many milliseconds; null if there was none'),
  P99Ms: orNull(6.4, '99 of 100 deliveries were answered within so many milliseconds; null if there was none'),
}

export const StoreKindSchema = Type.Union([Type.Literal('sqlite'), Type.Literal('postgres')], {
  description: 'The kind of store',
})
