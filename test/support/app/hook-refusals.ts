import type { FastifyInstance, RouteOptions } from 'fastify'
import { type RouteSchema, refusalsOf } from '#src/docs/contract/errors.ts'
import { AppError } from '#src/lib/app-error.ts'

type Hook = (this: unknown, ...values: unknown[]) => unknown

const STAGES = ['onRequest', 'preParsing', 'preValidation', 'preHandler'] as const

/**
 * Watches what hooks refuse: what one refuses on one route it can refuse on every route that it runs for. Must be called before any other
 * hook is added. Returns a function that says which routes do not declare such a code.
 */
export function watchHooks(app: FastifyInstance): () => string[] {
  const watchers = new WeakMap<Hook, Hook>()
  /** By the hook, whose codes they are. */
  const refused = new Map<Hook, Set<string>>()
  const ofScopes = new Map<object, Hook[]>([[app, []]])
  const routes = new Map<RouteOptions, { readonly scope: object; readonly own: Set<Hook> }>()

  const watched = (hook: Hook): Hook => {
    const known = watchers.get(hook)
    if (known !== undefined) return known
    const watcher: Hook = function (...values) {
      const done = values.at(-1) as Hook
      const note = (error: unknown): void => {
        if (error instanceof AppError) refused.set(watcher, (refused.get(watcher) ?? new Set()).add(error.code))
      }
      try {
        const running = hook.call(this, ...values.slice(0, -1), (error: unknown, ...others: unknown[]) => {
          note(error)
          done(error, ...others)
        })
        if (running instanceof Promise) running.catch(note)
        return running
      } catch (error) {
        note(error)
        throw error
      }
    }
    watchers.set(hook, watcher).set(watcher, watcher)
    return watcher
  }

  const watchRoute = (scope: object, route: RouteOptions): void => {
    const { own } = routes.get(route) ?? { own: new Set() }
    routes.set(route, { scope, own })
    for (const stage of STAGES) {
      if (route[stage] === undefined) continue
      const hooks = [route[stage]].flat().map((hook) => watched(hook as Hook))
      for (const hook of hooks) own.add(hook)
      Object.assign(route, { [stage]: hooks })
    }
  }

  const { addHook } = app as unknown as { addHook: (this: object, name: string, hook: Hook) => object }
  const addWatched = function (this: object, name: string, hook: Hook): object {
    if (name === 'onRoute') {
      return addHook.call(this, name, function (...values) {
        hook.apply(this, values)
        watchRoute(this as object, values[0] as RouteOptions)
      })
    }
    if (!STAGES.some((stage) => stage === name)) return addHook.call(this, name, hook)
    ofScopes.get(this)?.push(watched(hook))
    return addHook.call(this, name, watched(hook))
  }
  Object.assign(app, { addHook: addWatched })
  app.addHook('onRoute', () => undefined)
  app.addHook('onRegister', (scope) => {
    ofScopes.set(scope, [...(ofScopes.get(Object.getPrototypeOf(scope)) ?? [])])
  })

  return () =>
    [...routes].flatMap(([{ method, url, schema = {}, config }, { scope, own }]) => {
      // Those that are answered always are left alone by the hooks of http.
      if (method === 'HEAD' || !('operationId' in schema) || config?.answeredAlways) return []
      const declared = [...refusalsOf(schema as RouteSchema).values()].flat().map(({ code }) => code)
      const codes = [...(ofScopes.get(scope) ?? []), ...own].flatMap((hook) => [...(refused.get(hook) ?? [])])
      return [...new Set(codes)]
        .filter((code) => !declared.includes(code))
        .map((code) => `${method} ${url}: a hook of it refuses with ${code}, which is not declared`)
    })
}
