/** Accepts origins exactly as browsers send them, or an asterisk alone. */
export function readOrigins(written: string): readonly string[] | undefined {
  const origins = written.split(',').map((item) => item.trim())
  return origins.every(isOrigin) || written.trim() === '*' ? origins : undefined
}

/** A path, a default port, capital letters or a name in Unicode would never match. */
const isOrigin = (text: string): boolean =>
  /^https?:[^*]*$/.test(text) && URL.canParse(text) && new URL(text).origin === text
