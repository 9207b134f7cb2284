// npm runs this after an install: it strips and compiles the source once, so that the first start is as quick and as
// small as every later one. Without it, or where nothing can be written, teslim works all the same.
if (Number(process.versions.node.split('.')[0]) >= 26) {
  const { globSync } = await import('node:fs')
  process.argv[2] = '--help'
  process.stdout.write = () => true
  await import('../bin/teslim.js')
  for (const file of globSync('../src/**/*.ts', { cwd: import.meta.dirname })) await import(file)
  // What packages load when they are first used.
  await import('undici/lib/dispatcher/client.js')
  await import('@zxcvbn-ts/language-common')
  const { fastify } = await import('fastify')
  await fastify()
    .get('/', { schema: { querystring: { type: 'object' } } }, async () => '')
    .ready()
}
