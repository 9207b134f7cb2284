import { type Static, Type } from '@sinclair/typebox'
import { count, flag, named, orNull } from '#src/lib/json/schema-parts.ts'
import { DeliverySummarySchema } from '#src/purchase/deliveries/deliveries.schema.ts'
import { LatencySchema, StoreKindSchema } from '../console.schema.ts'

export const LiveSchema = named('LiveFrame', {
  At: Type.String({ format: 'date-time', description: 'When the frame was made' }),
  Since: Type.Optional(
    count(
      'Only in a frame that begins: the counts are complete from this second since 1970 on, and replace those of former frames. Without it they are added to them',
      1_795_341_600,
    ),
  ),
  RefusedSince: Type.Optional(
    count(
      'Only in a frame that begins: refusals are complete from this second on, at the earliest from the start of this process, and replace those of former frames. It may lie before `Since`',
      1_795_341_600,
    ),
  ),
  Seconds: Type.Array(
    Type.Object({
      At: count('The second of receipt, in seconds since 1970', 1_795_342_500),
      ByStatus: Type.Array(Type.Integer(), {
        minItems: 4,
        maxItems: 4,
        description: 'Deliveries with Status 0, 1, 2 and 3, duplicates included',
        examples: [[12, 3, 40, 0]],
      }),
      Duplicates: count('Echoes among them', 2),
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
  Skipped: count('How many more deliveries there are than Newest has', 0),
  Latency: Type.Object(LatencySchema, { description: 'Of deliveries to this process during the last minute' }),
  Failed: count(
    'Deliveries to this process, alone or in an upload, that it answered with 5xx during the last minute, for example because the store is full',
    0,
  ),
  Queue: Type.Object(
    { Deliveries: Type.Integer({ examples: [0] }), Bytes: Type.Integer({ examples: [0] }) },
    { description: 'Deliveries that wait to be stored by this process' },
  ),
  Replicas: Type.Union([Type.Integer(), Type.Null()], {
    examples: [null],
    description: 'Servers on the same PostgreSQL database; null for a file, and where they cannot be counted',
  }),
  Store: StoreKindSchema,
  StoreUp: flag('Whether the store can be read. `Failed` tells whether it can be written', true),
  BackupAt: orNull(
    Type.String({ format: 'date-time' }),
    'When the last successful backup began; null if there was none, and on PostgreSQL',
  ),
  Consoles: count('Live views that are open at this process', 1),
})

export type Frame = Static<typeof LiveSchema>

/** Describes the event stream, for the contract. */
export const LiveEventsSchema = Type.String({
  description: 'Server-sent events, one a second: the data of each is a frame',
  examples: [
    'data: {"At":"2026-11-21T08:55:00.120Z","Seconds":[{"At":1795251299,"ByStatus":[12,3,40,0],"Duplicates":2,"Refusals":{"PRODUCT_NOT_AUTHORIZED":1}}],"Newest":[],"Skipped":57,"Latency":{"P50Ms":1.9,"P99Ms":6.4},"Failed":0,"Queue":{"Deliveries":0,"Bytes":0},"Replicas":null,"Store":"sqlite","StoreUp":true,"BackupAt":null,"Consoles":1}\n\n',
  ],
})
