import { type Static, Type } from '@sinclair/typebox'
import { closed, customerFilter, named, time, timeFilter } from '#src/lib/json/schema-parts.ts'

const By = Type.Union([Type.Literal('hour'), Type.Literal('day')], {
  description: 'Length of a period; days are days in UTC',
  examples: ['hour'],
})

export const StatsQuerySchema = closed({
  from: timeFilter('From the period of this time on. Without it, 24 hours or 30 days'),
  to: timeFilter('Up to the period of this time. Without it, up to the current period'),
  by: Type.Optional({
    ...By,
    default: 'hour',
    description: 'Length of a period; at most 31 days by hour, 366 days by day',
  }),
  customer: customerFilter,
})

const count = (description: string, example: number) => Type.Integer({ minimum: 0, description, examples: [example] })

const refusals = (title: string, description: string, code: string) =>
  named(
    title,
    {
      Total: count('All of them', 2),
      ByCode: Type.Object(
        {},
        { additionalProperties: Type.Integer(), description: 'By `errorCode`', examples: [{ [code]: 2 }] },
      ),
    },
    { description },
  )

const sums = {
  Deliveries: named(
    'DeliveryCounts',
    {
      Total: count('All of them', 7),
      ByStatus: named(
        'StatusCounts',
        { 0: count('Status 0', 1), 1: count('Status 1', 3), 2: count('Status 2', 2), 3: count('Status 3', 1) },
        { description: 'By Status' },
      ),
    },
    { description: 'Deliveries that were stored, echoes included; retries with an Idempotency-Key are stored once' },
  ),
  Echoes: count('Deliveries among them with the same bytes as the latest delivery of their order', 1),
  Refusals: refusals('RefusalCounts', 'Refused deliveries', 'PRODUCT_NOT_AUTHORIZED'),
  RefusedLogins: refusals('RefusedLoginCounts', 'Refused logins', 'LOGIN_REFUSED'),
}

const FROM = '2026-11-21T09:00:00Z'

export type StatsAnswer = Static<typeof StatsSchema>

export const StatsSchema = named('Stats', {
  From: time('The beginning of the first period', FROM),
  To: time('The end of the last period', '2026-11-21T10:00:00Z'),
  By,
  CountedUntil: time(
    'Every delivery that was accepted before this time is counted. Refusals are counted a second later.',
    '2026-11-21T09:48:12.345Z',
  ),
  Periods: Type.Array(named('Period', { From: time('The beginning of the period', FROM), ...sums }), {
    description: 'Oldest first, without gaps',
  }),
  Totals: named('Totals', sums, { description: 'All periods together' }),
})
