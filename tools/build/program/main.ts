import './stack-traces.ts'

await import('#src/main.ts')
