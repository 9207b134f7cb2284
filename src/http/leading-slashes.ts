const SLASH = 0x2f
const LEADING = /^(?:https?:\/\/[^/?#]*)?\/{2,}/i

/** Treats several leading slashes as one: a base URL that ends in a slash makes `//Purchase/update`. */
export function singleLeadingSlash({ url = '/' }: { readonly url?: string }): string {
  const plain = url.charCodeAt(0) === SLASH && url.charCodeAt(1) !== SLASH
  return plain ? url : url.replace(LEADING, '/')
}
