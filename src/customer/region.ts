export const DEFAULT_REGION = 'TR'
export const REGION_PATTERN = '[A-Za-z]{2}'

const shape = new RegExp(`^${REGION_PATTERN}$`)

/** Reads two letters of any case as upper case; not sent or empty means the default. Undefined for anything else. */
export function readRegion(text: string | undefined): string | undefined {
  if (text === undefined || text === '') return DEFAULT_REGION
  return shape.test(text) ? text.toUpperCase() : undefined
}
