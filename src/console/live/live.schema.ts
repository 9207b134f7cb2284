import { type Static, Type } from '@sinclair/typebox'
import { named } from '#src/lib/json/schema-parts.ts'
import { DeliverySummarySchema } from '#src/purchase/deliveries/deliveries.schema.ts'
import { LatencySchema, StoreKindSchema } from '../console.schema.ts'

export const LiveSchema = named('LiveFrame', {
  At: Type.String({ format: 'date-time', description: 'When the frame was made' }),
  Since: Type.Optional(
    Type.Integer({
      description:
        'Only in a frame that begins: the counts are complete from this second since 1970 on, and replace those of former frames. Without it they are added to them',
      examples: [1_795_341_600],
    }),
  ),
  RefusedSince: Type.Optional(
    Type.Integer({
      description:
        'Only in a frame that begins: refusals are complete from this second on, at the earliest from the start of this process, and replace those of former frames. It may lie before `Since`',
      examples: [1_795_341_600],
    }),
  ),
  Seconds: Type.Array(
    Type.Object({
      At: Type.Integer({ description: 'The second of receipt, in seconds since 1970', examples: [1_795_342_500] }),
      ByStatus: Type.Array(Type.Integer(), {
        minItems: 4,
        maxItems: 4,
        description: 'Deliveries with Status 0, 1, 2 and 3, duplicates included',
        examples: [[12, 3, 40, 0]],
      }),
      Duplicates: Type.Integer({ description: 'Echoes among them', examples: [2] }),
      Refusals: Type.Optional(
        Type.Record(Type.String(), Type.Integer(), {
          description: 'Deliveries that this process refused in that second, by errorCode',
          examples: [{ PRODUCT_NOT_AUTHORIZED: 3 }],
        }),
      ),
    }),
    { description: 'Deliveries since the frame before, the oldest second first' },
  ),
  Newest: Type.Array(DeliverySummarySchema, {
    maxItems: 200,
    description: 'The newest of these deliveries, newest first',
  }),
  Skipped: Type.Integer({ description: 'How many more deliveries there are than Newest has', examples: [0] }),
  Latency: Type.Object(LatencySchema, { description: 'Of deliveries to this process during the last minute' }),
  Failed: Type.Integer({
    description:
      'Deliveries to this process that it answered with 5xx during the last minute, for example because the store is full',
    examples: [0],
  }),
  Queue: Type.Object(
    { Deliveries: Type.Integer({ examples: [0] }), Bytes: Type.Integer({ examples: [0] }) },
    { description: 'Deliveries that wait to be stored by this process' },
  ),
  Replicas: Type.Union([Type.Integer(), Type.Null()], {
    examples: [null],
    description: 'Servers on the same PostgreSQL database; null for a file, and where they cannot be counted',
  }),
  Store: StoreKindSchema,
  StoreUp: Type.Boolean({
    description: 'Whether the store can be read. `Failed` tells whether it can be written',
    examples: [true],
  }),
  BackupAt: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
    description: 'When the last successful backup began; null if there was none, and on PostgreSQL',
  }),
  Consoles: Type.Integer({ description: 'Live views that are open at this process', examples: [1] }),
})

export type Frame = Static<typeof LiveSchema>

/** Describes the event stream, for the contract. */
export const LiveEventsSchema = Type.String({
  description: 'Server-sent events, one a second: the data of each is a frame',
  examples: [
    'data: {"At":"2026-11-21T08:55:00.120Z","Seconds":[{"At":1795251299,"ByStatus":[12,3,40,0],"Duplicates":2,"Refusals":{"PRODUCT_NOT_AUTHORIZED":1}}],"Newest":[],"Skipped":57,"Latency":{"P50Ms":1.9,"P99Ms":6.4},"Failed":0,"Queue":{"Deliveries":0,"Bytes":0},"Replicas":null,"Store":"sqlite","StoreUp":true,"BackupAt":null,"Consoles":1}\n\n',
  ],
})
