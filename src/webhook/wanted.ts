export { isWanted } from '#src/store/store.ts'
