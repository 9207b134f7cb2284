#!/usr/bin/env node
// Plain JavaScript, so that an old Node can print the message below and a current one finds all TypeScript stripped and
// compiled in its cache. The cache lies with the code: in a temporary folder another user could have prepared one.
if (Number(process.versions.node.split('.')[0]) < 26) {
  console.error(
    `teslim needs Node 26 or later, this is ${process.version}: install one, or use the executable, which contains it. ` +
      'In a checkout npm ci installs one, for npm start and npx.',
  )
  process.exitCode = 1
} else {
  // Without a listener this signal opens Node's debugger, by which every user of the machine could run code in this process.
  process.on('SIGUSR1', () => undefined)
  const { enableCompileCache } = await import('node:module')
  const { fileURLToPath } = await import('node:url')
  const folder = fileURLToPath(new URL('../node_modules/.cache/teslim', import.meta.url))
  // Worker threads inherit the variable, not the call.
  process.env.NODE_COMPILE_CACHE ||= folder
  enableCompileCache(process.env.NODE_COMPILE_CACHE)
  await import('#src/main.ts')
}
