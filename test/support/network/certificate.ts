import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** X.509 by hand, as Node can read certificates but makes none. Times are UTCTime, so years end with 2049. */
const der = (tag: number, ...contents: Buffer[]): Buffer => {
  const content = Buffer.concat(contents)
  const { length } = content
  // Browsers refuse a length that is longer than it need be.
  const digits = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...digits]), content])
}
const sequence = (...contents: Buffer[]): Buffer => der(0x30, ...contents)
const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'))
const bits = (content: Buffer): Buffer => der(0x03, Buffer.from([0]), content)
const utcTime = (time: number): Buffer =>
  der(0x17, Buffer.from(`${new Date(time).toISOString().replace(/\D/g, '').slice(2, 14)}Z`))
const named = (commonName: string): Buffer =>
  sequence(der(0x31, sequence(oid('550403'), der(0x0c, Buffer.from(commonName)))))

const ECDSA_WITH_SHA256 = sequence(oid('2a8648ce3d040302'))
const DAY = 86_400_000

export interface Made {
  readonly certificate: string
  readonly key: string
  readonly privateKey: KeyObject
  readonly commonName: string
}

export interface Wanted {
  readonly serial?: number
  readonly commonName?: string
  readonly names?: readonly string[]
  readonly addresses?: readonly string[]
  readonly from?: number
  readonly until?: number
  readonly issuer?: Made
}

/** A certificate on P-256, signed by its issuer, or by itself if it has none. */
export function makeCertificate(wanted: Wanted = {}): Made {
  const { serial = 1, names = ['localhost'], addresses = ['127.0.0.1'], commonName = 'teslim test', issuer } = wanted
  const { from = Date.now() - DAY, until = Date.now() + 30 * DAY } = wanted
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const alternatives = sequence(
    ...names.map((name) => der(0x82, Buffer.from(name))),
    ...addresses.map((address) => der(0x87, Buffer.from(address.split('.').map(Number)))),
  )
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([serial])),
    ECDSA_WITH_SHA256,
    named(issuer?.commonName ?? commonName),
    sequence(utcTime(from), utcTime(until)),
    named(commonName),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(sequence(oid('551d11'), der(0x04, alternatives)))),
  )
  const signature = sign('sha256', body, issuer?.privateKey ?? privateKey)
  const base64 = sequence(body, ECDSA_WITH_SHA256, bits(signature))
    .toString('base64')
    .replace(/.{64}(?=.)/g, '$&\n')
  return {
    certificate: `-----BEGIN CERTIFICATE-----\n${base64}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    privateKey,
    commonName,
  }
}

/** Puts both into a folder and names them as the settings do. */
export function storeCertificate(folder: string, { certificate, key }: Made) {
  const env = { TESLIM_TLS_CERT: join(folder, 'cert.pem'), TESLIM_TLS_KEY: join(folder, 'key.pem') }
  writeFileSync(env.TESLIM_TLS_CERT, certificate)
  writeFileSync(env.TESLIM_TLS_KEY, key, { mode: 0o600 })
  return env
}
