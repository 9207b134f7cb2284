import type { FastifyInstance } from 'fastify'
import { buildOps } from '#src/ops/ops.ts'
import { atTheEnd } from '../at-the-end.ts'
import type { TestApp } from './test-app.ts'

export type Series = ReadonlyMap<string, number>

/** The samples of a scrape, by name and labels. */
export const seriesOf = (text: string): Series =>
  new Map(
    text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => {
        const at = line.lastIndexOf(' ')
        return [line.slice(0, at), Number(line.slice(at + 1))]
      }),
  )

/** Builds the second server of a service, as `serve` does, to be asked by `inject`. */
export function testOps({ app, config, store, clock, metrics }: TestApp): FastifyInstance {
  const ops = buildOps({ config, store, clock, metrics, app, checkReady: () => store.ping() })
  atTheEnd(() => ops.close())
  return ops
}

export const scrape = async (ops: FastifyInstance): Promise<Series> => seriesOf((await ops.inject('/metrics')).payload)

/** What the second scrape adds to the first, without what moves by itself. */
export function increase(before: Series, after: Series): Record<string, number> {
  const moved = [...after].filter(([name, value]) => value !== (before.get(name) ?? 0) && !MOVES_BY_ITSELF.test(name))
  return Object.fromEntries(moved.map(([name, value]) => [name, value - (before.get(name) ?? 0)]))
}

const MOVES_BY_ITSELF =
  /^(process_|nodejs_|teslim_(?:store_bytes|disk_free_bytes|http_connections))|_(?:sum|bucket)(?:\{|$)/
