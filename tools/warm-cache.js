// npm runs this after an install: it strips and compiles the source once, so that the first start is as quick and as
// small as every later one. Without it, or where nothing can be written, teslim works all the same.
if (Number(process.versions.node.split('.')[0]) >= 26) {
  process.argv[2] = '--help'
  process.stdout.write = () => true
  await import('../bin/teslim.js')
  await import('../src/app.ts')
  await import('../src/store/sqlite/thread/writer-worker.ts')
  await import('../src/login/hash-worker.ts')
  await import('../src/store/postgres/postgres-store.ts')
  await import('../src/webhook/send/connect.ts')
  await import('undici/lib/dispatcher/client.js')
}
