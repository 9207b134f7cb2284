import type { Config } from './load-config.ts'

/** Returns what one of the threads that take requests may use: an equal part of what the settings allow all of them together. */
export function partOfThread(config: Config): Config {
  const part = (total: number): number => Math.ceil(total / config.httpThreads)
  return Object.freeze({
    ...config,
    queueDeliveries: part(config.queueDeliveries),
    queueBytes: part(config.queueBytes),
    bodyBudgetBytes: part(config.bodyBudgetBytes),
    maxConnections: part(config.maxConnections),
    hashConcurrency: config.hashConcurrency && Math.max(1, Math.floor(config.hashConcurrency / config.httpThreads)),
  })
}
