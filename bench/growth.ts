import { statSync } from 'node:fs'
import type { Load } from './load.ts'
import type { BenchOptions } from './main.ts'

export async function benchGrowth(_load: Load, { folder }: BenchOptions): Promise<void> {
  console.log(statSync(folder).size)
}
