// npm runs this after an install: it strips and compiles the source once, so that the first start is as quick and as
// small as every later one. Without it, or where nothing can be written, teslim works all the same.
import { existsSync, symlinkSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const own = fileURLToPath(import.meta.url)
const modules = fileURLToPath(new URL('../node_modules/', import.meta.url))
if (linksNode()) {
  const { spawnSync } = await import('node:child_process')
  spawnSync(`${modules}.bin/node`, [own])
} else if (Number(process.versions.node.split('.')[0]) >= 26) {
  const { spawnSync } = await import('node:child_process')
  const { globSync } = await import('node:fs')
  // A server sets it once it has started (src/server.ts), and Node keeps what later threads compile apart.
  const flag = '--no-allocation-site-pretenuring'
  const load = async (pattern) => {
    // Pages run in browsers.
    const files = globSync(pattern, { cwd: import.meta.dirname }).filter((file) => !file.includes('/page/'))
    for (const file of files) await import(file)
  }
  if (process.execArgv.includes(flag)) await load('../src/**/*worker.ts')
  else {
    process.argv[2] = '--help'
    process.stdout.write = () => true
    await import('../bin/teslim.js')
    await load('../src/**/*.ts')
    // What packages load when they are first used.
    await import('undici/lib/dispatcher/client.js')
    await import('@zxcvbn-ts/language-common')
    const { fastify } = await import('fastify')
    await fastify()
      .get('/', { schema: { querystring: { type: 'object' } } }, async () => '')
      .ready()
    spawnSync(process.execPath, [flag, own])
  }
}

/** Does what npm 9 and 10, which come with Node 18 to 22, leave undone: `npm start` and `npx` then find the Node of tools/node. */
function linksNode() {
  const link = `${modules}.bin/node`
  const names = ['node', 'node-bin'].map((name) => `${name}-${process.platform}-${process.arch}`)
  const name = names.find((each) => existsSync(`${modules}${each}/bin/node`))
  if (name === undefined || existsSync(link)) return false
  symlinkSync(`../${name}/bin/node`, link)
  return true
}
