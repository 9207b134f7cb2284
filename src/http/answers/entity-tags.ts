import { hash } from 'node:crypto'

/** Hashing a larger answer would hold up the event loop for more than a millisecond. */
const MAX_BYTES = 1024 * 1024

/**
 * Makes a weak entity tag (RFC 9110, 8.8.3): it stays the same whatever the content coding. Returns undefined for an answer that is
 * too large to hash.
 */
export function weakTag(content: string | Uint8Array): string | undefined {
  if (content.length > MAX_BYTES) return undefined
  return `W/"${hash('sha256', content, 'base64url').slice(0, 22)}"`
}

/** An element of a list: nothing, or a tag, whose text may contain commas. */
const ELEMENT = /[ \t]*(?:(?:W\/)?"([\x21\x23-\x7e\x80-\xff]*)"[ \t]*)?(?:,|$)/y

/** Whether an `If-None-Match` header names the tag, by weak comparison. Says no to a header that is malformed up to there. */
export function namesTag(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false
  if (ifNoneMatch.trim() === '*') return true
  const wanted = opaque(tag)
  ELEMENT.lastIndex = 0
  while (ELEMENT.lastIndex < ifNoneMatch.length) {
    const element = ELEMENT.exec(ifNoneMatch)
    if (element === null) return false
    if (element[1] === wanted) return true
  }
  return false
}

const opaque = (tag: string): string => tag.slice(tag.indexOf('"') + 1, -1)
