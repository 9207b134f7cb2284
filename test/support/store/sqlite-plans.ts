import { DatabaseSync } from 'node:sqlite'
import { onTestFinished } from 'vitest'

/** Notes the plan of each statement that this process prepares until the end of the test. Plans do not depend on values here. */
export function plansOfPrepared(): ReadonlyMap<string, readonly string[]> {
  const plans = new Map<string, string[]>()
  const { prepare } = DatabaseSync.prototype
  DatabaseSync.prototype.prepare = function explained(sql, ...options) {
    if (/^\s*(?:SELECT|WITH|INSERT|UPDATE|DELETE|REPLACE)\b/.test(sql)) {
      const steps = prepare.call(this, `EXPLAIN QUERY PLAN ${sql}`).all()
      plans.set(
        sql,
        steps.map(({ detail }) => String(detail)),
      )
    }
    return prepare.call(this, sql, ...options)
  }
  onTestFinished(() => {
    DatabaseSync.prototype.prepare = prepare
  })
  return plans
}
