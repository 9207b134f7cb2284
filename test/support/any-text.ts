import fc from 'fast-check'

const character = fc.oneof(fc.integer({ max: 0x7f, min: 0 }), fc.integer({ max: 0x10_ff_ff, min: 0 }))

/** Any text, half surrogates and zero bytes included. (fast-check's own `unit: 'binary'` takes 1.6 s before its first text.) */
export const anyText = (minLength = 0, maxLength = 10): fc.Arbitrary<string> =>
  fc.array(character, { minLength, maxLength }).map((points) => String.fromCodePoint(...points))
