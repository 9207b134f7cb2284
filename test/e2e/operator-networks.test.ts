import { expect, it } from 'vitest'
import { fetch } from '../support/app/checked-fetch.ts'
import { serve } from '../support/processes/process.ts'
import { tempFolder } from '../support/temp-folder.ts'

const WARNING = /"level":40,[^\n]*TESLIM_OPERATOR_NETWORKS [^\n]* name it in TESLIM_TRUST_PROXY/
const GREETING = /Ctrl\+C stops it/

it('a server that takes the address of a proxy for that of every client says so at its start, and one that knows its proxy does not', async () => {
  const env = { TESLIM_OPERATOR_NETWORKS: '203.0.113.0/24' }
  const warned = await serve({ cwd: tempFolder(), env })
  await warned.printed(WARNING)
  const knowing = await serve({ cwd: tempFolder(), env: { ...env, TESLIM_TRUST_PROXY: 'loopback' } })
  await knowing.printed(GREETING)
  expect(knowing.output()).not.toMatch(WARNING)
  const status = async (url: string) => {
    const headers = { 'x-forwarded-for': '203.0.113.7' }
    return (await fetch(`${url}/console`, { headers })).status
  }
  expect([await status(warned.url), await status(knowing.url)]).toEqual([404, 200])
})
