// Runs first in an executable and in each of its threads: lets Node load the program's modules from the executable.
const { registerHooks } = require('node:module')
const { getAsset } = require('node:sea')
const { pathToFileURL } = require('node:url')
const { constants, Script } = require('node:vm')
const { getEnvironmentData, isMainThread, setEnvironmentData } = require('node:worker_threads')

/** Threads get it from the main thread: of a file that was replaced, their own `execPath` ends in ` (deleted)`. */
const PATH = 'path of the executable'
if (isMainThread) setEnvironmentData(PATH, process.execPath)

/** Modules have URLs as if the executable were a folder, where no file can be. */
const root = `${pathToFileURL(getEnvironmentData(PATH))}/`
const own = (path) => ({ url: `${root}program/${path}`, format: 'module', shortCircuit: true })
const NAMED = new Map([['@node-rs/argon2', own('argon2.js')]])

registerHooks({
  resolve(specifier, context, next) {
    const isOwn = context.parentURL?.startsWith(root) && specifier.startsWith('.')
    const url = isOwn ? new URL(specifier, context.parentURL).href : specifier
    if (url.startsWith(root)) return { url, format: 'module', shortCircuit: true }
    return NAMED.get(specifier) ?? next(specifier, context)
  },
  load(url, context, next) {
    if (!url.startsWith(root)) return next(url, context)
    return { source: getAsset(url.slice(root.length), 'utf8'), format: 'module', shortCircuit: true }
  },
})

// The import of the main script itself finds modules of Node only.
const { url } = own(isMainThread ? 'main.js' : 'thread.js')
new Script(`import(${JSON.stringify(url)})`, {
  importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
}).runInThisContext()
