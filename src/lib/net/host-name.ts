const LABEL = '[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?'
const HOST_NAME = new RegExp(`^(?=.{1,253}$)${LABEL}(?:\\.${LABEL})*$`)

/** Accepts a host name in lower case, as URLs spell it. `127.1` and `0x7f.1` are none, because URLs read them as addresses. */
export const isHostName = (text: string): boolean =>
  HOST_NAME.test(text) && URL.canParse(`https://${text}/`) && new URL(`https://${text}/`).hostname === text
