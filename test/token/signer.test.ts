import { createPublicKey, verify } from 'node:crypto'
import { Worker } from 'node:worker_threads'
import { expect, it, onTestFinished } from 'vitest'
import { systemRandom } from '#src/lib/random.ts'
import { createKeySealing } from '#src/token/key-sealing.ts'
import { createSigner } from '#src/token/signer.ts'
import { importKey, makeKey, type UsableKey } from '#src/token/usable-key.ts'

const sealing = createKeySealing({ secret: '', formerSecret: '', random: systemRandom })
const newKey = async (algorithm: string): Promise<UsableKey> =>
  (await importKey(await makeKey(algorithm, 0, sealing), sealing)).key

function startSigner() {
  const workers: Worker[] = []
  const signer = createSigner(() => {
    const worker = new Worker(new URL('../../src/token/sign-worker.ts', import.meta.url))
    workers.push(worker)
    return worker
  })
  onTestFinished(() => signer.close())
  return { signer, workers }
}

const isRight = (text: string, signature: string, { algorithm, privateKey }: UsableKey): boolean =>
  algorithm === 'ES256'
    ? verify(
        'sha256',
        Buffer.from(text),
        { key: privateKey, dsaEncoding: 'ieee-p1363' },
        Buffer.from(signature, 'base64url'),
      )
    : verify(null, Buffer.from(text), privateKey, Buffer.from(signature, 'base64url'))

it('returns the right signature to each caller, whichever texts and keys come at once', async () => {
  const { signer } = startSigner()
  const keys = [await newKey('ES256'), await newKey('EdDSA'), await newKey('ES256')]
  const asked = Array.from({ length: 100 }, (_, number) => ({
    text: `text ${number}`,
    key: keys[number % keys.length] as UsableKey,
  }))
  const signatures = await Promise.all(asked.map(({ text, key }) => signer.sign(text, key)))
  expect(asked.filter(({ text, key }, index) => !isRight(text, signatures[index] ?? '', key))).toEqual([])
})

it('starts no thread for a single text', async () => {
  const { signer, workers } = startSigner()
  const key = await newKey('ES256')
  expect(isRight('alone', await signer.sign('alone', key), key)).toBe(true)
  expect(workers).toHaveLength(0)
})

it('signs what a thread that died did not sign, and starts another thread', async () => {
  const { signer, workers } = startSigner()
  const key = await newKey('ES256')
  for (let round = 1; round <= 3; round++) {
    const signing = Array.from({ length: 50 }, (_, number) => signer.sign(`${number}`, key))
    await new Promise(setImmediate)
    expect(workers).toHaveLength(round)
    const [signatures] = await Promise.all([Promise.all(signing), workers.at(-1)?.terminate()])
    expect(signatures.filter((signature, number) => !isRight(`${number}`, signature, key))).toEqual([])
  }
})

it('signs what is still waiting when it is closed', async () => {
  const { signer } = startSigner()
  const key = await newKey('ES256')
  const signing = [signer.sign('a', key), signer.sign('b', key)]
  await new Promise(setImmediate)
  await signer.close()
  const [a = '', b = ''] = await Promise.all(signing)
  expect([isRight('a', a, key), isRight('b', b, key)]).toEqual([true, true])
})

it('rejects only the texts whose key cannot sign', async () => {
  const { signer } = startSigner()
  const key = await newKey('ES256')
  const broken = { ...key, privateKey: createPublicKey(key.privateKey) }
  const [alone] = await Promise.allSettled([signer.sign('a', broken)])
  expect(alone?.status).toBe('rejected')
  const together = await Promise.allSettled([signer.sign('a', broken), signer.sign('b', broken), signer.sign('c', key)])
  expect(together.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled'])
})
