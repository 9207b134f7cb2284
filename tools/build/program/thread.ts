import './stack-traces.ts'

// The module of the thread: see src/lib/program-files.ts.
await import(process.argv[2] as string)
