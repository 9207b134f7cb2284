/** Argon2id: 2 is its number in the library, whose `const enum` type stripping cannot read. */
export const ARGON2 = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const
