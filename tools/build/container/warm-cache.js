// The image's build runs this in the folder of the application: it compiles every module, so that no start has to. A server sets a flag of
// V8 once it listens (src/server.ts), and Node keeps what later threads compile apart: with that flag it compiles what threads load.
import { globSync } from 'node:fs'
import { resolve } from 'node:path'

const isOfThreads = process.execArgv.includes('--no-allocation-site-pretenuring')
process.argv[2] = '--help'
process.stdout.write = () => true
// Also turns the cache on.
await import(resolve('bin/teslim.js'))
// A thread imports what its argument names.
process.argv[2] = 'node:path'
const pattern = isOfThreads ? 'program/{thread,**/*worker}.js' : 'program/{*,lib/*,**/*worker}.js'
for (const file of globSync(pattern)) await import(resolve(file))
