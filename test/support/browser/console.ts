import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { onTestFinished } from 'vitest'
import { fetch } from '../app/checked-fetch.ts'
import { runPrepared } from '../processes/prepared-commands.ts'
import { type ServerProcess, serve } from '../processes/process.ts'
import { tempFolder } from '../temp-folder.ts'
import { watchPage } from './browser.ts'

export const PASSWORD = 'a password of the console tests'
/** Less than a test has, so that a test that waits in vain says what for. */
const PATIENCE = 90_000

export interface ConsoleServer {
  readonly server: ServerProcess
  readonly operator: string
  readonly readOnly: string
  /** A customer that may deliver everything, and its key. */
  readonly customer: { readonly id: string; readonly email: string; readonly apiKey: string }
  /** Delivers a body; returns the receipt. */
  deliver(body: unknown, headers?: Record<string, string>): Promise<string>
  /** Runs a command beside the server. Returns what it printed as JSON. */
  command(args: readonly string[]): Promise<unknown>
}

/** Serves a store with an operator, a read-only operator and a customer, for all tests of a file. */
export async function startConsoleServer(env: Record<string, string> = {}): Promise<ConsoleServer> {
  const options = { cwd: tempFolder(), env: { NODE_ENV: 'production', ...env } }
  const run = async (args: readonly string[], stdin = ''): Promise<unknown> => {
    const { status, stdout, stderr } = await runPrepared([...args, '--json'], { ...options, stdin })
    if (status !== 0) throw new Error(`teslim ${args.join(' ')}: ${stderr}`)
    return JSON.parse(stdout)
  }
  const add = async (email: string, ...more: string[]): Promise<string> => {
    const args = ['customer', 'add', '--email', email, '--api', '--region', 'TR', '--password-stdin', ...more]
    return ((await run(args, PASSWORD)) as { id: string }).id
  }
  const operator = 'operator@example.com'
  const readOnly = 'reader@example.com'
  const email = 'shop@example.com'
  await add(operator, '--operator')
  await add(readOnly, '--operator', '--read-only')
  const id = await add(email, '--allow', '*')
  const { key } = (await run(['key', 'issue', '--customer', email, '--label', 'erp'])) as { key: string }
  const server = await serve(options)
  return {
    server,
    operator,
    readOnly,
    customer: { id, email, apiKey: key },
    async deliver(body, headers) {
      const answer = await fetch(`${server.url}/Purchase/update`, {
        method: 'POST',
        headers: { apikey: key, ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      })
      const { data } = (await answer.json()) as { data: { ReceiptID: string } | null }
      if (data === null) throw new Error(`the delivery was answered with ${answer.status}`)
      return data.ReceiptID
    },
    command: (args) => run(args),
  }
}

export interface ConsolePage {
  readonly page: Page
  /** Errors, warnings and requests to other hosts. */
  readonly complaints: readonly string[]
}

/** Opens the console at a view, for example `#/orders?status=2`, in a browser context that ends with the test. */
export async function openConsole(
  browser: Browser,
  { url }: { readonly url: string },
  view = '',
  options: BrowserContextOptions = {},
): Promise<ConsolePage> {
  const usual = {
    locale: 'en-GB',
    viewport: { width: 1280, height: 900 },
    permissions: ['clipboard-read', 'clipboard-write'],
  }
  const context = await browser.newContext({ ...usual, ...options })
  const page = await context.newPage()
  page.setDefaultTimeout(PATIENCE)
  const watched = watchPage(page)
  watched.origin = url
  onTestFinished(async ({ task }) => {
    if (task.result?.state === 'fail')
      console.error(page.url(), watched.complaints, await page.ariaSnapshot({ timeout: 5000 }))
    // A page that is left open keeps drawing what comes in.
    await context.close()
  })
  await page.goto(`${url}/console${view}`)
  return { page, complaints: watched.complaints }
}

interface SignedInOptions extends BrowserContextOptions {
  /** The operator, unless another one is named. */
  readonly email?: string
  readonly password?: string
}

/** Opens views for somebody who is signed in: by the form at first, and from then on by the cookie of that session, while it lasts. */
export function signedInAt(browser: Browser, { server, operator }: ConsoleServer) {
  const cookies = new Map<string, Awaited<ReturnType<BrowserContext['cookies']>>>()
  return async (view = '', { email = operator, password, ...options }: SignedInOptions = {}): Promise<ConsolePage> => {
    const storageState = { cookies: cookies.get(email) ?? [], origins: [] }
    const opened = await openConsole(browser, server, view, { ...options, storageState })
    const { page } = opened
    await page.locator('header.top, .sign-in form').first().waitFor()
    if (await page.locator('header.top').isVisible()) return opened
    await signIn(page, email, password)
    cookies.set(email, await page.context().cookies())
    return opened
  }
}

/** Writes down that deliveries are set aside for a paused endpoint, which the server does after a minute at the earliest. */
export function setAside(file: string, endpoint: string, receipts: readonly string[]): void {
  const database = new DatabaseSync(file)
  database.exec('PRAGMA busy_timeout = 10000')
  const insert = database.prepare(`
    INSERT INTO webhook_waiting (webhook, position, lane, failures, first_failed_at, set_aside_at, last_error, answered, replayed)
    SELECT ?, position, -position, 7, ?, ?, 'no answer within 15 s', 0, 0 FROM delivery WHERE receipt = ?`)
  for (const receipt of receipts)
    insert.run(endpoint, Date.now() - 7_200_000, Date.now(), Buffer.from(receipt.replaceAll('-', ''), 'hex'))
  database.prepare('UPDATE webhook_progress SET set_aside = ? WHERE webhook = ?').run(receipts.length, endpoint)
  database.close()
}

/** From the next connection of the live view on, its frames have these fields: all frames, or those that begin. */
export const changeFrames = (page: Page, fields: object, which: 'all' | 'begin' = 'all'): Promise<unknown> =>
  page.evaluate(`{
    const plain = window.fetch
    window.fetch = async (path, options) => {
      const answer = await plain(path, options)
      if (path !== '/Operator/live' || !answer.ok) return answer
      const change = (event, text) => {
        const frame = JSON.parse(text)
        if (${which === 'begin'} && frame.Since === undefined) return event
        return 'data: ' + JSON.stringify({ ...frame, ...${JSON.stringify(fields)} })
      }
      const changing = new TransformStream({
        transform: (text, changed) => changed.enqueue(text.replace(/^data: (.*)$/gm, change)),
      })
      const body = answer.body.pipeThrough(new TextDecoderStream()).pipeThrough(changing).pipeThrough(new TextEncoderStream())
      return new Response(body, answer)
    }
  }`)

/** Fills in the form and waits for what comes after it. */
export async function signIn(page: Page, email: string, password = PASSWORD): Promise<void> {
  // What is held of a session before has forms, too.
  const form = page.locator('.sign-in form')
  await form.locator('input[name=email]').fill(email)
  await form.locator('input[name=password]').fill(password)
  await form.locator('button').click()
  await page.locator('header.top').waitFor()
}

/** Opens a filter of the list, and sets it: writes a text and presses Enter, or takes one of the choices. */
export async function filterBy(page: Page, name: string, value: string): Promise<void> {
  const form = page.getByRole('search', { name: /^(Filters|Filtreler)$/ })
  await form.getByRole('button', { name: /^(Filters|Filtreler)$/ }).click()
  await form.locator('.options').getByRole('button', { name, exact: true }).click()
  await form.locator('.sheet :is(input, [aria-pressed])').first().waitFor()
  if ((await form.locator('.sheet input').count()) === 0)
    return form.getByRole('button', { name: value, exact: true }).click()
  await form.locator('.sheet input').fill(value)
  await page.keyboard.press('Enter')
}

export const artefacts = fileURLToPath(new URL('../../../coverage/', import.meta.url))
