import type { Config } from '#src/config/load-config.ts'
import type { CliContext } from '../command.ts'
import { signBackup } from './backup-proof.ts'

export interface MadeBackup {
  readonly path: string
  readonly at: number
  readonly bytes: number
  readonly sha256: string
  readonly removed: readonly string[]
}

export async function backUp(
  config: Config,
  to: string,
  keep: number | undefined,
  stop: AbortSignal,
  { clock, progress, err }: CliContext,
): Promise<MadeBackup> {
  // Loaded here because the other commands start sooner without it.
  const { backupStore } = await import('#src/store/backup/backup-store.ts')
  const at = clock.now()
  try {
    const { notRecorded, ...made } = await backupStore({
      from: config,
      to,
      now: at,
      keep,
      stop,
      sign: signBackup(config),
      onProgress: (step, done, all) => progress(`${step}: ${megabytes(done)} of ${megabytes(all)} MB`),
    })
    if (notRecorded !== undefined)
      err(`teslim: the backup is good, but its time could not be recorded beside the store: ${notRecorded}`)
    return { ...made, at }
  } finally {
    progress('')
  }
}

export const backupJson = ({ path, at, bytes, sha256, removed }: MadeBackup) => ({
  path,
  at: new Date(at).toISOString(),
  bytes,
  sha256,
  removed,
})

export const backupText = ({ path, bytes, sha256 }: MadeBackup): string =>
  `${path}\n${megabytes(bytes)} MB, checked; SHA-256 ${sha256}`

const megabytes = (bytes: number): string => (bytes / 1e6).toLocaleString('en', { maximumFractionDigits: 1 })
