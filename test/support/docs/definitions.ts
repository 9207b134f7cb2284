import { globSync } from 'node:fs'
import type { ErrorDefinition } from '#src/lib/app-error.ts'

const root = new URL('../../../', import.meta.url)

/** Every error that the modules define. A code may have several definitions. */
export async function allDefinitions(): Promise<ErrorDefinition[]> {
  const files = globSync('src/**/*.errors.ts', { cwd: root })
  const modules = await Promise.all(files.map((file) => import(new URL(file, root).href)))
  const exported: unknown[] = modules.flatMap((each) => Object.values(each as object))
  return exported.flatMap((each) => [each, ...Object.values(each as object)]).filter(isDefinition)
}

const isDefinition = (each: unknown): each is ErrorDefinition =>
  each instanceof Object && 'code' in each && 'kind' in each
