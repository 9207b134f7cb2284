/** All of undici would take five times as long to load, and 5 MB more. */
declare module 'undici/lib/dispatcher/client.js' {
  import { Client } from 'undici'
  export default Client
}
