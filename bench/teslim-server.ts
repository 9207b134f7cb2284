import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type BenchServer, startServer } from './server-process.ts'

const BIN = join(import.meta.dirname, '../bin/teslim.js')

/** teslim as it is run in production, logging to a file, with a customer that may deliver what the load delivers. */
export async function prepareTeslim(databaseUrl: string): Promise<{ apiKey: string }> {
  const cli = async (...args: string[]): Promise<string> => {
    const env = { PATH: process.env.PATH ?? '', DATABASE_URL: databaseUrl }
    return (await promisify(execFile)(process.execPath, [BIN, ...args, '--json'], { env })).stdout
  }
  const { id } = JSON.parse(
    await cli('customer', 'add', '--email', 'bench@example.com', '--api', '--allow', 'SKU-*', '--generate'),
  )
  return { apiKey: JSON.parse(await cli('key', 'issue', '--customer', id, '--label', 'bench')).key }
}

export const startTeslim = (folder: string, databaseUrl: string, name = 'teslim'): Promise<BenchServer> =>
  startServer(name, [BIN, 'serve'], folder, { DATABASE_URL: databaseUrl })
