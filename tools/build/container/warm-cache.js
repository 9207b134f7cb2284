// The image's build runs this in the folder of the application: it compiles every module, so that no start has to.
import { globSync } from 'node:fs'
import { resolve } from 'node:path'

process.argv[2] = '--help'
process.stdout.write = () => true
await import(resolve('bin/teslim.js'))
// A thread imports what its argument names.
process.argv[2] = 'node:path'
for (const file of globSync('program/{*,lib/*,**/*worker}.js')) await import(resolve(file))
