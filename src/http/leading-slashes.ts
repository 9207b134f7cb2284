const SLASH = 0x2f
const LEADING = /^(?:https?:\/\/[^/?#]*)?\/{2,}/i

/** A base URL that ends in a slash and a path that begins with one make two: `//Purchase/update`. More than one count as one. */
export function singleLeadingSlash({ url = '/' }: { readonly url?: string }): string {
  const plain = url.charCodeAt(0) === SLASH && url.charCodeAt(1) !== SLASH
  return plain ? url : url.replace(LEADING, '/')
}
