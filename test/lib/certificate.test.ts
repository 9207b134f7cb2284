import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { readCertificate, whyWorse } from '#src/lib/certificate.ts'
import { makeCertificate, storeCertificate } from '../support/network/certificate.ts'
import { tempFolder } from '../support/temp-folder.ts'

const filesOf = (...stored: Parameters<typeof storeCertificate>) => {
  const { TESLIM_TLS_CERT, TESLIM_TLS_KEY } = storeCertificate(...stored)
  return { tlsCertificateFile: TESLIM_TLS_CERT, tlsKeyFile: TESLIM_TLS_KEY }
}

const read = (...stored: Parameters<typeof storeCertificate>) => {
  const certificate = readCertificate(filesOf(...stored), Date.now())
  if (certificate === null) throw new Error('TLS is off')
  return certificate
}

it('is read although a renewal removes the key just after that', () => {
  const files = filesOf(tempFolder(), makeCertificate())
  const { readFileSync } = fs
  vi.spyOn(fs, 'readFileSync').mockImplementation(((path: string) => {
    const content = readFileSync(path)
    if (path === files.tlsKeyFile) fs.unlinkSync(path)
    return content
  }) as typeof readFileSync)
  syncBuiltinESMExports()
  onTestFinished(() => {
    vi.restoreAllMocks()
    syncBuiltinESMExports()
  })
  expect(readCertificate(files, Date.now())?.warnings).toEqual([])
  expect(fs.existsSync(files.tlsKeyFile)).toBe(false)
})

it('is worse without the issuers that the one in use has', () => {
  const issuer = makeCertificate({ commonName: 'issuer' })
  const made = makeCertificate({ issuer })
  const alone = read(tempFolder(), made)
  const chained = read(tempFolder(), { ...made, certificate: made.certificate + issuer.certificate })
  expect(whyWorse(alone, chained, Date.now())).toContain('lacks the certificates of its issuers')
  for (const [next, current] of [
    [chained, alone],
    [chained, chained],
    [alone, alone],
  ] as const)
    expect(whyWorse(next, current, Date.now())).toBeUndefined()
})

describe('files that cannot be used are one clear line, which test/e2e/tls.test.ts sees at a start:', () => {
  const ours = makeCertificate()
  const encrypted = { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' } as const

  it.each([
    ['no such file', { certificate: null }, /TESLIM_TLS_CERT \S+ cannot be read: ENOENT$/],
    ['a folder', { key: null }, /TESLIM_TLS_KEY \S+ cannot be read: it is not a plain file$/],
    ['no PEM', { certificate: 'hello' }, /TESLIM_TLS_CERT \S+ holds no certificate in PEM$/],
    ['a key where the certificate belongs', { certificate: ours.key }, /holds no certificate in PEM$/],
    ['no key', { key: ours.certificate }, /TESLIM_TLS_KEY \S+ holds no private key in PEM$/],
    [
      'an encrypted key',
      { key: ours.privateKey.export(encrypted) as string },
      /is encrypted, and teslim knows no passphrase: store it without one$/,
    ],
  ])('%s', (_name, { certificate, key }: { certificate?: string | null; key?: string | null }, line) => {
    const folder = tempFolder()
    const files = filesOf(folder, { ...ours, ...(certificate && { certificate }), ...(key && { key }) })
    const used = {
      tlsCertificateFile: certificate === null ? join(folder, 'none.pem') : files.tlsCertificateFile,
      tlsKeyFile: key === null ? folder : files.tlsKeyFile,
    }
    expect(() => readCertificate(used, Date.now())).toThrow(
      expect.objectContaining({ kind: 'invalid', message: expect.stringMatching(line) }),
    )
  })
})
