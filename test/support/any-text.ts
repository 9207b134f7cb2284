import fc from 'fast-check'

const FIRST_SURROGATE = 0xd8_00
const SURROGATES = 0x08_00

/** Any whole character, the zero byte included. (fast-check's own `binary` takes 1.6 s before its first one.) */
const anyCharacter = fc
  .oneof(fc.integer({ min: 0, max: 0x7f }), fc.integer({ min: 0, max: 0x10_ff_ff - SURROGATES }))
  .map((number) => String.fromCodePoint(number < FIRST_SURROGATE ? number : number + SURROGATES))

export const anyText = (minLength = 0, maxLength = 10): fc.Arbitrary<string> =>
  fc.string({ unit: anyCharacter, minLength, maxLength })

export const anyJsonValue = (): fc.Arbitrary<unknown> => fc.jsonValue({ stringUnit: anyCharacter })

/** The text of any JSON. */
export const anyJson = (): fc.Arbitrary<string> => fc.json({ stringUnit: anyCharacter })
