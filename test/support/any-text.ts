import fc from 'fast-check'

const FIRST_SURROGATE = 0xd8_00
const SURROGATES = 0x08_00
const character = fc
  .oneof(fc.integer({ min: 0, max: 0x7f }), fc.integer({ min: 0, max: 0x10_ff_ff - SURROGATES }))
  .map((number) => (number < FIRST_SURROGATE ? number : number + SURROGATES))

/** Any text of whole characters, zero bytes included. (fast-check's own `unit: 'binary'` takes 1.6 s before its first text.) */
export const anyText = (minLength = 0, maxLength = 10): fc.Arbitrary<string> =>
  fc.array(character, { minLength, maxLength }).map((points) => String.fromCodePoint(...points))
