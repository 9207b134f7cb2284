import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { globSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { describe, expect, inject, it } from 'vitest'
import { fetch } from '../support/app/checked-fetch.ts'
import { type Block, commandBlocks, shapeOf } from '../support/docs/doc-blocks.ts'
import { freePort, newDatabase } from '../support/postgres/postgres-server.ts'
import { runCommand } from '../support/processes/command.ts'
import { serve } from '../support/processes/process.ts'
import { answerCalls, calling } from '../support/processes/shell-commands.ts'
import { createStore } from '../support/store/create-store.ts'
import { tempFolder } from '../support/temp-folder.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const PAGES = globSync(['*.md', 'docs/*.md', 'docs/tr/*.md', 'deploy/**/*.md', 'examples/*.md'], {
  cwd: ROOT,
}).toSorted()
const CHECKED_OUT = ['bin', 'deploy', 'examples', 'node_modules', 'package.json', 'src', 'tools']
const EMAIL = 'shop@example.com'

const EVERYWHERE = ['psql', 'openssl', 'curl', 'sqlite3']
const isMissing = (program: string): boolean => spawnSync(program, ['--version']).error !== undefined
/** Replaces docker and kubectl: runs the `teslim` commands that they would run in a container here, on a store of its own. */
const STAND_IN = `#!/bin/sh
while [ $# -gt 0 ]; do
  if [ "$1 $2" = 'node bin/teslim.js' ]; then
    shift 2
    export DATABASE_URL=sqlite:$(mktemp -d -p .)/teslim.db
    ${calling}
  fi
  shift
done
`

/** Runs what npx would run, in this process. The README's commands are run by npx itself. */
const NPX = `#!/bin/sh
shift
${calling}
`

/** A folder that looks like a checkout, with the store of a running server if one is wanted. */
async function makeCheckout(isServed: boolean) {
  const cwd = tempFolder()
  for (const name of CHECKED_OUT) symlinkSync(join(ROOT, name), join(cwd, name))
  const opsPort = String(await freePort())
  const server = isServed ? await serve({ cwd, env: { TESLIM_OPS_PORT: opsPort } }) : undefined
  if (server === undefined) await createStore(cwd)
  return { cwd, server, opsUrl: `http://127.0.0.1:${opsPort}` }
}

type Checkout = Awaited<ReturnType<typeof makeCheckout>>

/** What a page runs in: a checkout, and databases if it needs them. */
async function makeStage(page: string, blocks: readonly Block[]) {
  const names = (what: RegExp): boolean => blocks.some(({ text: commands }) => what.test(commands))
  const checkout = names(NEEDS_SERVER) && !NEEDS_OWN.includes(page) ? shared : await makeCheckout(names(NEEDS_SERVER))
  const { cwd } = checkout
  const programs = tempFolder()
  const standIns = ['docker', 'kubectl', ...EVERYWHERE.filter(isMissing)].map((name) => [name, STAND_IN] as const)
  for (const [name, script] of page === 'README.md' ? standIns : [...standIns, ['npx', NPX] as const]) {
    writeFileSync(join(programs, name), script, { mode: 0o755 })
  }
  const env: Record<string, string> = {
    PATH: `${programs}:${join(ROOT, 'node_modules/.bin')}:${process.env.PATH}`,
    HOME: cwd,
    // npx finds this package without asking anybody.
    npm_config_offline: 'true',
  }
  const databaseUrl = names(/psql/) ? await newDatabase(inject('postgresUrl')) : ''
  if (databaseUrl !== '') await runCommand(['migrate'], { cwd, env: { DATABASE_URL: databaseUrl } })
  const copyUrl = names(/database-url/) ? await newDatabase(inject('postgresUrl')) : ''
  // The file that the page of operators copies from.
  writeFileSync(join(cwd, 'database-url.txt'), copyUrl)
  return { ...checkout, env, databaseUrl, copyUrl }
}

/** Placeholders of a page, and the values that its reader would put there. */
type Known = Record<string, string>

const learn = (printed: string): Known => ({
  ...found('THE-PASSWORD', /password +(\S+)/.exec(printed)),
  ...found('THE-KEY', /(tsl_\w+)/.exec(printed)),
  ...found('$TOKEN', /"Token":"([^"]+)"/.exec(printed)),
  ...found('THE-SECRET', /(whsec_\S+)/.exec(printed)),
  ...found('ENDPOINTID', /the endpoint is ([0-9a-f-]{36})/.exec(printed)),
})
const found = (name: string, match: RegExpExecArray | null): Known =>
  match?.[1] === undefined ? {} : { [name]: match[1] }

/** Adds a customer with an order, as most pages take for granted. */
async function withCustomer({ cwd, server }: Checkout): Promise<Known> {
  const cli = async (...args: string[]) => JSON.parse((await runCommand([...args, '--json'], { cwd })).stdout)
  const { password } = await cli('customer', 'add', '--email', EMAIL, '--api', '--allow', '*', '--generate')
  const { id, key } = await cli('key', 'issue', '--customer', EMAIL, '--label', 'erp')
  const post = async (path: string, body: object, headers = {}) => {
    const init = {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    }
    return ((await (await fetch(`${server?.url}${path}`, init)).json()) as { data: Record<string, string> }).data
  }
  const { Token = '' } = await post('/Login/Customer/Api/Verify', { Email: EMAIL, Password: password })
  const { ReceiptID = '' } = await post('/Purchase/update', { OrderID: 'PO-1', Status: 2 }, { ApiKey: key })
  const [line = ''] = (await runCommand(['delivery', 'export'], { cwd })).stdout.split('\n')
  return {
    KEYID: id,
    'THE-KEY': key,
    'THE-PASSWORD': password,
    RECEIPTID: ReceiptID,
    CURSOR: JSON.parse(line).Cursor,
    WHO: EMAIL,
    $TOKEN: Token,
  }
}

/** Leaves out installing and testing, which .ci/run does. */
const withoutInstalling = (commands: string): string =>
  commands.replaceAll(/npm (ci|test|run check|run test:(?:fast|slow|all))\b( && )?/g, '')
/** What only the commands of a page with a running server contain. */
const NEEDS_SERVER = /npx teslim|http:\/\/127\.0\.0\.1/
const SERVES = /(?:npm start|serve|webhook listen --port 8080)\s*$/
/** Pages that deliver, and the README, whose reader starts with an empty store. The other pages share one server. */
const NEEDS_OWN = ['README.md', 'docs/operations.md', 'docs/suppliers.md', 'docs/tr/suppliers.md', 'docs/webhooks.md']

type Stage = Awaited<ReturnType<typeof makeStage>>

function commandsOf({ text: commands }: Block, stage: Stage, known: Known): string {
  const { cwd, server, copyUrl, opsUrl } = stage
  const places = {
    ...(server && { 'http://127.0.0.1:3000': server.url }),
    'http://127.0.0.1:9464': opsUrl,
    'postgres://teslim:PASSWORD@db.internal/teslim': copyUrl,
    // Another program may have it.
    '--port 8080': '--port 0',
    '/opt/teslim': ROOT.replace(/\/$/, ''),
    '/srv/teslim': cwd,
    '/etc/teslim': cwd,
    '-g teslim ': '-g "$(id -g)" ',
    ...known,
  }
  return Object.entries(places).reduce(
    (all, [place, value]) => all.replaceAll(place, value),
    withoutInstalling(commands),
  )
}

async function runBlock(block: Block, stage: Stage, known: Known) {
  const { cwd, env, databaseUrl } = stage
  const child = spawn('sh', ['-euc', commandsOf(block, stage, known)], {
    cwd,
    env: {
      ...env,
      PORT: '0',
      ...(block.text.includes('psql') && { DATABASE_URL: databaseUrl }),
      // Only one server works on a file, and the stage has one.
      ...(SERVES.test(block.text) && { DATABASE_URL: 'sqlite:./data/another.db' }),
    },
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    // A process group, so that a server ends together with the shell that started it.
    detached: true,
  })
  const [, stdout, errors, calls] = child.stdio as unknown as [null, Readable, Readable, Readable]
  let printed = ''
  let listened = false
  stdout.setEncoding('utf8').on('data', (chunk: string) => {
    printed += chunk
    if (listened || !SERVES.test(block.text) || !printed.includes('listening on http')) return
    listened = true
    process.kill(-Number(child.pid), 'SIGTERM')
  })
  const [stderr, [status]] = await Promise.all([text(errors), once(child, 'close'), answerCalls(calls)])
  return { status: listened ? 0 : status, printed, stderr }
}

const shared = await makeCheckout(true)
const knownToAll = await withCustomer(shared)

const pages = PAGES.map((page) => ({ page, blocks: commandBlocks(page) })).filter(({ blocks }) => blocks.length > 0)

console.info('docker and kubectl are not run; in the pages that name them only the teslim commands are')
for (const program of EVERYWHERE.filter(isMissing))
  console.info(`${program} is not installed: in the pages it is not run`)

// `bash` blocks are not run here: one needs root and systemd, one a release that is signed, which release/signing.test.ts makes.
const NOT_HERE = ['SECURITY.md', 'deploy/systemd/README.md']

/** Commands, what they print, its shapes, and lines for programs in other languages, which are no commands. */
const LANGUAGES = ['sh', 'json', 'sql', 'csharp', 'java', 'js', 'ts'].map((language) => `\`\`\`${language}`)

it('every page puts its commands into blocks that are run here', () => {
  const hidden = PAGES.filter((page) => {
    const fences = readFileSync(join(ROOT, page), 'utf8').match(/^```.*$/gm) ?? []
    return fences.some((fence, index) => index % 2 === 0 && !LANGUAGES.includes(fence))
  })
  expect(hidden).toEqual(NOT_HERE)
})

it('the guides have commands', () => {
  const guides = [
    'README.md',
    'docs/api-customers.md',
    'docs/operations.md',
    'docs/postgresql.md',
    'docs/suppliers.md',
    'docs/tr/suppliers.md',
  ]
  expect(pages.map(({ page }) => page)).toEqual(expect.arrayContaining(guides))
})

describe.each(pages)('the commands in $page', ({ page, blocks }) => {
  it('work as they are written, in their order, and print what the page says', async () => {
    const stage = await makeStage(page, blocks)
    const { server } = stage
    const known: Known = {}
    // A reader of the README has what the first start printed, and nothing else.
    if (server && page === 'README.md') {
      await server.printed(/ApiKey +\S+\s/)
      Object.assign(known, learn(server.output()))
    } else if (server) Object.assign(known, server === shared.server ? knownToAll : await withCustomer(stage))
    for (const block of blocks) {
      const { status, printed, stderr } = await runBlock(block, stage, known)
      const where = `${block.page}:${block.line}: ${printed}${stderr}`
      expect(status, where).toBe(0)
      // A server that a block starts has a store of its own; the rest of the page uses the stage's.
      if (!SERVES.test(block.text)) Object.assign(known, learn(printed))
      if (block.output !== undefined) {
        const [real, shown] = [JSON.parse(printed), JSON.parse(block.output)]
        expect(shapeOf(real), where).toEqual(shapeOf(shown))
        const textsOf = (answer: typeof real) => [answer.message, answer.errors, answer.data?.Warnings]
        expect(textsOf(real), where).toEqual(textsOf(shown))
      } else if (block.text.includes('curl') && !block.text.includes('/metrics'))
        expect(JSON.parse(printed), where).toMatchObject({ success: true })
    }
    // A page starts up to twenty processes, each of which takes seconds on a busy machine.
  }, 300_000)
})
