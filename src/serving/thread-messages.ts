import type { MessagePort } from 'node:worker_threads'
import type { LoadedConfig, Variables } from '#src/config/load-config.ts'
import type { ThreadSamples } from '#src/lib/metrics/metrics.ts'
import type { StoreShare } from '#src/store/open-store.ts'

/** What a thread that takes requests begins with. */
export interface ThreadData {
  readonly loaded: LoadedConfig
  readonly traceVariables: Variables | undefined
  /** Where the main thread listens. */
  readonly host: string
  readonly port: number
  /** When the clock of the main thread was zero. */
  readonly clockOrigin: number
  readonly allowances: SharedArrayBuffer | undefined
  readonly commits: StoreShare['commits']
}

export type ToThread =
  | { readonly type: 'leave' }
  | { readonly type: 'reload' }
  | { readonly type: 'sample' }
  /** The process is about to end. */
  | { readonly type: 'hand-over' }
  | { readonly type: 'stop'; readonly milliseconds: number }

export type FromThread =
  | { readonly type: 'ready' }
  /** JSON lines, for the one log of this process: lines of several writers would tear each other apart. */
  | { readonly type: 'log'; readonly lines: string }
  /** A port that the writer should answer. */
  | { readonly type: 'join'; readonly port: MessagePort }
  | { readonly type: 'handed-over' }
  | { readonly type: 'stopped' }
  | { readonly type: 'samples'; readonly samples: ThreadSamples }
