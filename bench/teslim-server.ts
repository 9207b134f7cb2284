import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { loadConfig } from '#src/config/load-config.ts'
import { openStore } from '#src/store/open-store.ts'
import { type BenchServer, startServer } from './server-process.ts'

export const BIN = join(import.meta.dirname, '../bin/teslim.js')

export const EMAIL = 'bench@example.com'

export async function cli(databaseUrl: string, args: readonly string[], settings: Record<string, string> = {}) {
  const env = { PATH: process.env.PATH ?? '', DATABASE_URL: databaseUrl, ...settings }
  return JSON.parse((await promisify(execFile)(process.execPath, [BIN, ...args, '--json'], { env })).stdout)
}

/** teslim as it is run in production, logging to a file, with a customer that may deliver what the load delivers. */
export async function prepareTeslim(databaseUrl: string): Promise<{ apiKey: string; password: string }> {
  const customer = ['customer', 'add', '--email', EMAIL, '--api', '--allow', 'SKU-*', '--generate']
  const { id, password } = await cli(databaseUrl, customer)
  const { key } = await cli(databaseUrl, ['key', 'issue', '--customer', id, '--label', 'bench'])
  return { apiKey: key, password }
}

/** A customer that reads; resolves to what logs it in. */
export async function addReader(databaseUrl: string, ...options: string[]): Promise<(url: string) => Promise<string>> {
  const email = `${randomUUID()}@example.com`
  const { password } = await cli(databaseUrl, ['customer', 'add', '--email', email, '--api', '--generate', ...options])
  return async (url) => {
    const answer = await fetch(`${url}/Login/Customer/Api/Verify`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ Email: email, Password: password }),
    })
    return ((await answer.json()) as { data: { Token: string } }).data.Token
  }
}

/** Counts what a store was filled with by hour, so that a server does not do so while it is measured. */
export async function countByHour(databaseUrl: string): Promise<void> {
  const { store } = await openStore(loadConfig({ DATABASE_URL: databaseUrl }).config, Date.now())
  while ((await store.rollUps.count(5000)) > 0);
  await store.close()
}

export const startTeslim = (
  folder: string,
  databaseUrl: string,
  name = 'teslim',
  settings: Record<string, string> = {},
): Promise<BenchServer> => startServer(name, [BIN, 'serve'], folder, { DATABASE_URL: databaseUrl, ...settings })
