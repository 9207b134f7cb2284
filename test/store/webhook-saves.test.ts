import { describe, expect, it } from 'vitest'
import { postgres } from '#src/store/postgres/dialect.ts'
import type { Dialect } from '#src/store/sql/dialect.ts'
import { webhooks } from '#src/store/sql/webhooks/webhooks.ts'
import type { Operation } from '#src/store/sql/work.ts'
import { sqlite } from '#src/store/sqlite/dialect.ts'
import type { WebhookSave } from '#src/store/store.ts'
import { attempt, confirmation, NOW, save, waiting } from '../support/webhooks/webhook-rows.ts'

type Saving = Operation<[holder: string, saves: readonly WebhookSave[], now: number], string[]>

/** The statements of a save whose endpoints are all there. Each answer is that the first row is the endpoint. */
function statementsOf({ work }: Saving, saves: readonly WebhookSave[]): string[] {
  const statements: string[] = []
  const steps = work('holder', saves, NOW)
  let id = 0
  for (let step = steps.next(); !step.done; ) {
    statements.push(step.value.sql.trim().replace(/\s+/g, ' '))
    step = steps.next({ rows: saves.length > 0 ? [{ id: saves[id++ % saves.length]?.id }] : [], count: 1 })
  }
  return statements
}

const minutes = [{ minute: NOW, succeeded: 1, failed: 0, longestMilliseconds: 1 }]
const healthy = (id: string) => save(id, { position: 9, confirmed: [confirmation(9)], minutes })
const saving = (dialect: Dialect, name: 'advance' | 'saveAll'): Saving => webhooks(dialect)[name] as Saving

describe('a save of endpoints that take everything', () => {
  it('is one statement on PostgreSQL, without a transaction around it, however many they are', () => {
    const advance = saving(postgres, 'advance')
    expect(advance.mode).toBe('change')
    expect(statementsOf(advance, [healthy('a')])).toHaveLength(1)
    expect(statementsOf(advance, ['a', 'b', 'c'].map(healthy))).toHaveLength(1)
  })

  it('has no statement on SQLite that does nothing', () => {
    const advance = saving(sqlite, 'advance')
    const verbs = (saves: WebhookSave[]) =>
      statementsOf(advance, saves).map((sql) => sql.split(' ').slice(0, 3).join(' '))
    expect(verbs([save('a', { position: 9 })])).toEqual(['UPDATE webhook_progress AS'])
    expect(verbs([healthy('a')])).toEqual([
      'UPDATE webhook_progress AS',
      'INSERT INTO webhook_confirmed',
      'INSERT INTO webhook_minute',
    ])
  })
})

it('a save with refused deliveries has ten statements at most', () => {
  const troubled = save('a', {
    position: 9,
    confirmed: [confirmation(9)],
    minutes,
    kept: [waiting(7)],
    settled: [{ position: 6, lane: 6 }],
    attempts: [attempt()],
  })
  expect(statementsOf(saving(postgres, 'saveAll'), [troubled]).length).toBeLessThanOrEqual(10)
})
