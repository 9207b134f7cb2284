import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { AppError } from '#src/lib/app-error.ts'
import { checkUrl } from '#src/webhook/send/check-url.ts'
import { readProxies } from '#src/webhook/send/proxies.ts'
import { anyText } from '../../support/any-text.ts'
import { runs } from '../../support/random-runs.ts'

const PUBLIC = '93.184.215.14'
const noNetwork = { allow: [], resolve: () => Promise.reject(new Error('no network in tests')) }
const codeOf = (url: string, options: Partial<Parameters<typeof checkUrl>[1]> = {}): Promise<unknown> =>
  checkUrl(url, { ...noNetwork, ...options }).then(
    (text) => ({ accepted: text }),
    (error: unknown) => (error instanceof AppError ? error.code : error),
  )

/** Spellings of addresses that are not public, each as the host of a URL. */
const FORBIDDEN = [
  // IPv4: private, shared, loopback, link-local, this network, multicast, reserved, broadcast.
  '10.0.0.1',
  '10.255.255.255',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.1.1',
  '100.64.0.1',
  '127.0.0.1',
  '127.255.255.254',
  '0.0.0.0',
  '0.1.2.3',
  '224.0.0.1',
  '255.255.255.255',
  '192.0.0.8',
  '198.18.0.1',
  '198.19.255.255',
  '192.0.2.1',
  '198.51.100.1',
  '203.0.113.1',
  // Metadata of clouds.
  '169.254.169.254',
  '100.100.100.200',
  '192.0.0.192',
  '168.63.129.16',
  '[fd00:ec2::254]',
  // Other spellings of 127.0.0.1 and 10.0.0.1.
  '2130706433',
  '0x7f000001',
  '0x7f.0.0.1',
  '0177.0.0.1',
  '017700000001',
  '127.1',
  '127.0.1',
  '0',
  '10.1',
  '127.0.0.1.',
  '%31%32%37.0.0.1',
  '１２７.０.０.１',
  '127。0。0。1',
  '①②⑦.0.0.1',
  // IPv6.
  '[::]',
  '[::1]',
  '[0:0:0:0:0:0:0:1]',
  '[fe80::1]',
  '[febf::1]',
  '[fec0::1]',
  '[fc00::1]',
  '[fdff::1]',
  '[ff02::1]',
  '[2001:db8::1]',
  '[3fff::1]',
  '[100::1]',
  '[5f00::1]',
  // IPv4 within IPv6: mapped, compatible, translated, NAT64, 6to4, Teredo.
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[::ffff:10.0.0.1]',
  '[0:0:0:0:0:ffff:a9fe:a9fe]',
  '[::127.0.0.1]',
  '[::ffff:0:127.0.0.1]',
  '[64:ff9b::127.0.0.1]',
  '[64:ff9b::a00:1]',
  '[64:ff9b::a9fe:a9fe]',
  '[64:ff9b:1::a00:1]',
  '[2002:7f00:1::]',
  '[2002:a00:1::1]',
  '[2001:0:7f00:1::]',
  '[2001::1]',
  // Names of this machine.
  'localhost',
  'LOCALHOST',
  'localhost.',
  'shop.localhost',
  'ｌｏｃａｌｈｏｓｔ',
]

describe('the URL of a webhook', () => {
  it.each(FORBIDDEN)('may not have the host %s', async (host) => {
    expect(await codeOf(`https://${host}/hook`)).toBe('WEBHOOK_ADDRESS_FORBIDDEN')
    expect(await codeOf(`https://${host}:8443`)).toBe('WEBHOOK_ADDRESS_FORBIDDEN')
  })

  it.each([
    ['https://SHOP.example', 'https://shop.example/'],
    ['https://shop.example.:443/a?b=c', 'https://shop.example/a?b=c'],
    ['https://shop.example:8443/a%20b', 'https://shop.example:8443/a%20b'],
    ['HTTPS://münze.example/ü', 'https://xn--mnze-0ra.example/%C3%BC'],
    ['https://93.184.215.14/', 'https://93.184.215.14/'],
    ['https://1572394766/', 'https://93.184.215.14/'],
    ['https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/', 'https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/'],
    ['https://[64:ff9b::93.184.215.14]/', 'https://[64:ff9b::5db8:d70e]/'],
    ['https://[::ffff:93.184.215.14]/', 'https://[::ffff:5db8:d70e]/'],
    ['https://under_score.example/', 'https://under_score.example/'],
    [`https://shop.example/${'x'.repeat(2027)}`, `https://shop.example/${'x'.repeat(2027)}`],
  ])('may be %s', async (url, stored) => {
    expect(await codeOf(url)).toEqual({ accepted: stored })
    expect(await codeOf(stored)).toEqual({ accepted: stored })
  })

  it.each([
    '',
    'shop.example',
    '//shop.example/',
    'https:shop.example',
    'https:/shop.example',
    'https:///shop.example',
    'https://',
    'https://?a',
    'ftp://shop.example/',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'http://shop.example/',
    'http://93.184.215.14/',
    'https://user@shop.example/',
    'https://user:password@shop.example/',
    'https://@shop.example/',
    'https://shop.example@10.0.0.1/',
    'https://shop.example\\@10.0.0.1/',
    'https:\\\\shop.example/',
    'https://shop.example/#',
    'https://shop.example/#a',
    'https://shop.example/a b',
    ' https://shop.example/',
    'https://shop.example/\n',
    'https://shop.example/\r\nX: 1',
    'https://shop\t.example/',
    'https://shop.example/\u200b',
    'https://shop.example/\u2028',
    'https://shop.example:0/',
    'https://10.0.0.1:0/',
    'https://shop.example:65536/',
    'https://shop.example:-1/',
    'https://shop.example:0x50/',
    'https://shop..example/',
    'https://shop.example../',
    'https://.shop.example/',
    'https://-shop.example/',
    'https://*.example/',
    "https://shop'.example/",
    `https://${'a'.repeat(64)}.example/`,
    'https://[fe80::1%25eth0]/',
    'https://[fe80::1%eth0]/',
    'https://[::1/',
    'https://256.0.0.1/',
    'https://1.2.3.4.5/',
    'https://127.0.0.1%00.example/',
    `https://shop.example/${'x'.repeat(2028)}`,
    `https://shop.example/${'ü'.repeat(1000)}`,
  ])('may not be %j', async (url) => {
    expect(await codeOf(url)).toBe('WEBHOOK_URL_INVALID')
  })

  it('says what is wrong with it', async () => {
    await expect(checkUrl('http://shop.example/', noNetwork)).rejects.toThrow(
      'The URL begins with http:, which is only possible if TESLIM_WEBHOOK_ALLOW names shop.example.',
    )
    await expect(checkUrl('https://10.1/', noNetwork)).rejects.toThrow(
      'Webhooks are not sent to private addresses: the address 10.0.0.1 is not allowed unless TESLIM_WEBHOOK_ALLOW names 10.0.0.1.',
    )
    await expect(checkUrl('http://shop.example:8080/', noNetwork)).rejects.toThrow('names shop.example:8080.')
    await expect(checkUrl('https://[::1]:8443/', noNetwork)).rejects.toThrow('names [::1]:8443.')
    await expect(checkUrl('http://10.1:443/', noNetwork)).rejects.toThrow('names 10.0.0.1:443.')
    await expect(checkUrl('https://a.localhost/', noNetwork)).rejects.toThrow(
      'the address 127.0.0.1 of a.localhost is not allowed',
    )
  })

  it('may have a name that cannot be resolved now, or has a public address, but not one with private addresses only', async () => {
    const withAddresses = (...found: string[]) => codeOf('https://shop.example/', { resolve: async () => found })
    expect(await codeOf('https://shop.example/')).toEqual({ accepted: 'https://shop.example/' })
    expect(await withAddresses(PUBLIC)).toEqual({ accepted: 'https://shop.example/' })
    expect(await withAddresses('10.0.0.1', PUBLIC)).toEqual({ accepted: 'https://shop.example/' })
    for (const address of ['10.0.0.1', '::1', 'fe80::1%eth0', '::ffff:169.254.169.254', '64:ff9b::a00:1']) {
      expect(await withAddresses(address)).toBe('WEBHOOK_ADDRESS_FORBIDDEN')
    }
  })

  it('is not resolved here if a proxy does that, but addresses and localhost are refused nevertheless', async () => {
    const proxies = readProxies({ HTTPS_PROXY: 'http://10.0.0.3:3128' })
    const resolve = () => Promise.resolve(['10.0.0.1'])
    expect(await codeOf('https://shop.example/', { proxies, resolve })).toEqual({ accepted: 'https://shop.example/' })
    expect(await codeOf('https://10.0.0.1/', { proxies, resolve })).toBe('WEBHOOK_ADDRESS_FORBIDDEN')
    expect(await codeOf('https://localhost/', { proxies, resolve })).toBe('WEBHOOK_ADDRESS_FORBIDDEN')
  })

  it('is refused with an AppError, whatever the text is', async () => {
    const urls = fc.oneof(
      anyText(),
      fc.webUrl({ withFragments: true, withQueryParameters: true, validSchemes: ['http', 'https', 'ftp'] }),
      fc.tuple(fc.constantFrom('http://', 'https://', 'HTTPS:\\'), anyText(), anyText()).map((parts) => parts.join('')),
      fc
        .tuple(
          fc.oneof(
            fc.ipV4Extended(),
            fc.ipV6().map((ip) => `[${ip}]`),
          ),
          anyText(),
        )
        .map(([ip, rest]) => `https://${ip}${rest}`),
    )
    await fc.assert(
      fc.asyncProperty(urls, async (url) => {
        const result = await codeOf(url)
        if (typeof result === 'string') expect(result).toMatch(/^WEBHOOK_(URL_INVALID|ADDRESS_FORBIDDEN)$/)
        else expect(await codeOf((result as { accepted: string }).accepted)).toEqual(result)
      }),
      { numRuns: runs(250) },
    )
  })
})

describe('TESLIM_WEBHOOK_ALLOW', () => {
  it('lets a named host have http and any address', async () => {
    const options = { allow: ['intern', 'intern:8080', 'localhost:3000'], resolve: async () => ['10.0.0.1'] }
    expect(await codeOf('http://intern:8080/a', options)).toEqual({ accepted: 'http://intern:8080/a' })
    expect(await codeOf('https://intern:8080/a', options)).toEqual({ accepted: 'https://intern:8080/a' })
    expect(await codeOf('https://INTERN./', options)).toEqual({ accepted: 'https://intern/' })
    expect(await codeOf('http://localhost:3000/', options)).toEqual({ accepted: 'http://localhost:3000/' })
    expect(await codeOf('http://a.intern/', options)).toBe('WEBHOOK_URL_INVALID')
    expect(await codeOf('https://a.intern/', options)).toBe('WEBHOOK_ADDRESS_FORBIDDEN')
    expect(await codeOf('https://10.0.0.1/', options)).toBe('WEBHOOK_ADDRESS_FORBIDDEN')
  })

  it('lets every name have addresses in a named network, by https only', async () => {
    const options = { allow: ['10.1.0.0/16', '10.1.0.0/16:8080', 'fd00::/8'], resolve: async () => ['10.1.2.3'] }
    expect(await codeOf('https://shop.example/', options)).toEqual({ accepted: 'https://shop.example/' })
    expect(await codeOf('http://shop.example/', options)).toBe('WEBHOOK_URL_INVALID')
    expect(await codeOf('http://10.1.2.3:8080/', options)).toEqual({ accepted: 'http://10.1.2.3:8080/' })
    expect(await codeOf('http://[fd00::1]/', options)).toEqual({ accepted: 'http://[fd00::1]/' })
    expect(await codeOf('http://[64:ff9b::10.1.2.3]/', options)).toEqual({ accepted: 'http://[64:ff9b::a01:203]/' })
    expect(await codeOf('https://10.2.0.1/', options)).toBe('WEBHOOK_ADDRESS_FORBIDDEN')
    expect(await codeOf('https://shop.example/', { ...options, resolve: async () => ['10.2.0.1'] })).toBe(
      'WEBHOOK_ADDRESS_FORBIDDEN',
    )
  })

  it('means one port: that of https or http unless it names another', async () => {
    const allow = ['intern', 'shop.example:8443', '127.0.0.1', '[::1]:9000', '10.0.0.0/8:9200']
    const options = { allow, resolve: async () => ['10.0.0.1'] }
    const allowed = [
      'https://intern/',
      'http://intern/',
      'https://shop.example:8443/',
      'http://shop.example:8443/',
      'http://127.0.0.1/',
      'https://127.0.0.1/',
      'http://[::1]:9000/',
      'https://[::1]:9000/',
      'https://10.1.2.3:9200/',
      // A name with an address in a network.
      'https://other.example:9200/',
    ]
    for (const url of allowed) expect(await codeOf(url, options)).toEqual({ accepted: url })
    const forbidden = [
      'https://intern:80/',
      'https://intern:8443/',
      'https://shop.example/',
      'https://shop.example:443/',
      'https://127.0.0.1:80/',
      'https://127.0.0.1:43110/',
      'https://localhost:43110/',
      'https://[::1]/',
      'https://10.1.2.3/',
      'https://other.example/',
    ]
    for (const url of forbidden) expect([url, await codeOf(url, options)]).toEqual([url, 'WEBHOOK_ADDRESS_FORBIDDEN'])
    for (const url of [
      'http://intern:443/',
      'http://intern:8080/',
      'http://shop.example/',
      'http://other.example:9200/',
    ])
      expect([url, await codeOf(url, options)]).toEqual([url, 'WEBHOOK_URL_INVALID'])
  })
})
