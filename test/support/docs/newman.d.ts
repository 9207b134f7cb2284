/** What the tests use of it; newman brings no types. */
declare module 'newman' {
  const newman: { run(options: object, done: (error: Error | null, summary: object) => void): unknown }
  export default newman
}
