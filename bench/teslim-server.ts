import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type BenchServer, startServer } from './server-process.ts'

const BIN = join(import.meta.dirname, '../bin/teslim.js')

export const EMAIL = 'bench@example.com'

/** teslim as it is run in production, logging to a file, with a customer that may deliver what the load delivers. */
export async function prepareTeslim(databaseUrl: string): Promise<{ apiKey: string; password: string }> {
  const cli = async (...args: string[]): Promise<string> => {
    const env = { PATH: process.env.PATH ?? '', DATABASE_URL: databaseUrl }
    return (await promisify(execFile)(process.execPath, [BIN, ...args, '--json'], { env })).stdout
  }
  const { id, password } = JSON.parse(
    await cli('customer', 'add', '--email', EMAIL, '--api', '--allow', 'SKU-*', '--generate'),
  )
  return { apiKey: JSON.parse(await cli('key', 'issue', '--customer', id, '--label', 'bench')).key, password }
}

export const startTeslim = (
  folder: string,
  databaseUrl: string,
  name = 'teslim',
  settings: Record<string, string> = {},
): Promise<BenchServer> => startServer(name, [BIN, 'serve'], folder, { DATABASE_URL: databaseUrl, ...settings })
