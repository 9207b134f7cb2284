import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { VERSION } from '#src/lib/version.ts'
import { fetch } from '../support/app/checked-fetch.ts'
import { published } from '../support/docs/contract.ts'
import { serve } from '../support/processes/process.ts'
import { tempFolder } from '../support/temp-folder.ts'

const read = (name: string): string => readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8')

it('the version is the same in the package, its lock, the image, the contract, the answers and the log', async () => {
  const server = await serve({ cwd: tempFolder() })
  const versionAt = async (path: string) =>
    ((await (await fetch(server.url + path)).json()) as { data: { Version: string } }).data.Version
  const lock = JSON.parse(read('package-lock.json'))
  expect({
    package: JSON.parse(read('package.json')).version,
    lock: [lock.version, lock.packages[''].version],
    image: /image\.version="([^"]+)"/.exec(read('Dockerfile'))?.[1],
    contract: published.info.version,
    root: await versionAt('/'),
    health: [await versionAt('/livez'), await versionAt('/readyz')],
    log: /^\{.*"version":"([^"]+)".*"teslim starts"/m.exec(server.output())?.[1],
  }).toEqual({
    package: VERSION,
    lock: [VERSION, VERSION],
    image: VERSION,
    contract: VERSION,
    root: VERSION,
    health: [VERSION, VERSION],
    log: VERSION,
  })
})
