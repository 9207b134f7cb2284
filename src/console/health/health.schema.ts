import { type Static, Type } from '@sinclair/typebox'
import { messageParts, named } from '#src/lib/json/schema-parts.ts'
import { LatencySchema, StoreKindSchema } from '../console.schema.ts'

const StatusSchema = Type.Union([Type.Literal('ok'), Type.Literal('warning'), Type.Literal('failed')], {
  description: 'The worst thing found',
})

export type OperatorHealth = Static<typeof OperatorHealthSchema>

export const OperatorHealthSchema = named('OperatorHealth', {
  Version: Type.String({ description: 'Of teslim', examples: ['0.1.0'] }),
  NodeVersion: Type.String({ examples: ['26.10.0'] }),
  Store: StoreKindSchema,
  StartedAt: Type.String({ format: 'date-time', description: 'When the process was started' }),
  CheckedAt: Type.String({
    format: 'date-time',
    description: 'When the checks were made; they are kept for 30 seconds',
  }),
  Status: StatusSchema,
  Checks: Type.Array(
    Type.Object({
      Name: Type.String({ examples: ['backup'] }),
      Status: Type.Union(
        [Type.Literal('ok'), Type.Literal('skipped'), Type.Literal('warning'), Type.Literal('failed')],
        { description: 'ok only for what was looked at' },
      ),
      Message: Type.String({
        description: 'What was found and, unless it is ok, what to do',
        examples: ['the last one was made 3 hours ago, at 2026-11-21 05:37:25 UTC'],
      }),
      ...messageParts('BACKUP_RECENT', { ago: 3, at: '2026-11-21T05:37:25.000Z' }),
    }),
    { description: 'What teslim doctor finds' },
  ),
  Minutes: Type.Array(
    Type.Object(
      {
        At: Type.String({ format: 'date-time', description: 'When the minute began' }),
        Requests: Type.Integer({ description: 'Answered requests', examples: [61_204] }),
        Refusals5xx: Type.Integer({ description: 'Answers with a status of 500 or more', examples: [0] }),
        ...LatencySchema,
        EventLoopP99Ms: Type.Union([Type.Number({ examples: [3.1] }), Type.Null()], {
          description: '99 of 100 times the event loop was late by at most so many milliseconds',
        }),
        RssBytes: Type.Integer({ description: 'Resident memory', examples: [148_000_000] }),
        CpuPercent: Type.Number({
          description: 'Processor time, in percent of one processor: several threads may take more than 100',
          examples: [87.5],
        }),
      },
      { description: 'One minute of this process' },
    ),
    { maxItems: 60, description: 'The last hour without the minute under way, oldest first' },
  ),
})
