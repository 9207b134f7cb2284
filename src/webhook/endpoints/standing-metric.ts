import type { Metrics, Reading } from '#src/lib/metrics.ts'
import type { Endpoints } from './endpoints.rule.ts'
import { STANDINGS } from './standing.ts'

/** Shows how each endpoint is doing, as `teslim webhook list` does: 1 for its state, 0 for the others. */
export function showStandings(metrics: Metrics, endpoints: Pick<Endpoints, 'list'>): void {
  metrics.gauge('teslim_webhook_state', 'Whether an endpoint is active, failing, behind or paused.', async () =>
    (await endpoints.list()).flatMap(({ webhook: { id }, standing }) =>
      STANDINGS.map((state): Reading => [{ endpoint: id, state }, state === standing ? 1 : 0]),
    ),
  )
}
