import { type Static, Type } from '@sinclair/typebox'
import { count, messageParts, named, oneOf, text } from '#src/lib/json/schema-parts.ts'
import { VERSION } from '#src/lib/version.ts'
import { LatencySchema, StoreKindSchema } from '../console.schema.ts'

export type OperatorHealth = Static<typeof OperatorHealthSchema>

export const OperatorHealthSchema = named('OperatorHealth', {
  Version: text('Of teslim', VERSION),
  NodeVersion: Type.String({ examples: ['26.10.0'] }),
  Store: StoreKindSchema,
  StartedAt: Type.String({ format: 'date-time', description: 'When the process was started' }),
  CheckedAt: Type.String({
    format: 'date-time',
    description: 'When the checks were made; they are kept for 30 seconds',
  }),
  Status: oneOf(['ok', 'warning', 'failed'], { description: 'The worst thing found' }),
  Checks: Type.Array(
    Type.Object({
      Name: Type.String({ examples: ['backup'] }),
      Status: oneOf(['ok', 'skipped', 'warning', 'failed'], { description: 'ok only for what was looked at' }),
      Message: text(
        'What was found and, unless it is ok, what to do',
        'the last one was made 3 hours ago, at 2026-11-21 05:37:25 UTC',
      ),
      ...messageParts('BACKUP_RECENT', { ago: 3, at: '2026-11-21T05:37:25.000Z' }),
    }),
    { description: 'What teslim doctor finds' },
  ),
  Minutes: Type.Array(
    Type.Object(
      {
        At: Type.String({ format: 'date-time', description: 'When the minute began' }),
        Requests: count('Answered requests', 61_204),
        Refusals5xx: count('Answers with a status of 500 or more', 0),
        ...LatencySchema,
        EventLoopP99Ms: Type.Union([Type.Number({ examples: [3.1] }), Type.Null()], {
          description: '99 of 100 times the event loop was late by at most so many milliseconds',
        }),
        RssBytes: count('Resident memory', 148_000_000),
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
