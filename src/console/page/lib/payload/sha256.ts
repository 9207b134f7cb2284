/** The browser's own SHA-256 exists only on HTTPS and on this machine; the console also works on a plain address of a network. */
const isPrime = (number) => {
  for (let divisor = 2; divisor * divisor <= number; divisor++) if (number % divisor === 0) return false
  return true
}
const PRIMES = Array.from({ length: 310 }, (_, index) => index + 2)
  .filter(isPrime)
  .slice(0, 64)
const fraction = (root) => ((root - Math.floor(root)) * 2 ** 32) | 0
const ROUNDS = PRIMES.map((prime) => fraction(Math.cbrt(prime)))
const START = PRIMES.slice(0, 8).map((prime) => fraction(Math.sqrt(prime)))

const turned = (word, bits) => (word >>> bits) | (word << (32 - bits))

/** Returns the SHA-256 of bytes in hexadecimal (FIPS 180-4). */
export function sha256(bytes) {
  const padded = new DataView(new ArrayBuffer(Math.ceil((bytes.length + 9) / 64) * 64))
  new Uint8Array(padded.buffer).set(bytes)
  padded.setUint8(bytes.length, 0x80)
  padded.setBigUint64(padded.byteLength - 8, BigInt(bytes.length) * 8n)
  const state = [...START]
  const words = new Int32Array(64)
  for (let block = 0; block < padded.byteLength; block += 64) {
    for (let i = 0; i < 64; i++) {
      if (i < 16) words[i] = padded.getInt32(block + 4 * i)
      else {
        const [x, y] = [words[i - 15], words[i - 2]]
        const first = turned(x, 7) ^ turned(x, 18) ^ (x >>> 3)
        const second = turned(y, 17) ^ turned(y, 19) ^ (y >>> 10)
        words[i] = words[i - 16] + first + words[i - 7] + second
      }
    }
    let [a, b, c, d, e, f, g, h] = state
    for (let i = 0; i < 64; i++) {
      const one = h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & f) ^ (~e & g)) + ROUNDS[i] + words[i]
      const two = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))
      h = g
      g = f
      f = e
      e = (d + one) | 0
      d = c
      c = b
      b = a
      a = (one + two) | 0
    }
    for (const [i, word] of [a, b, c, d, e, f, g, h].entries()) state[i] = (state[i] + word) | 0
  }
  return state.map((word) => (word >>> 0).toString(16).padStart(8, '0')).join('')
}
