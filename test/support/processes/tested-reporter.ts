import { existsSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { Reporter, SerializedError, TestModule, TestRunEndReason, Vitest } from 'vitest/node'
import { commitOfCheckout } from '../../../tools/build/package.ts'
import { forgetTested, sha256, writeTested } from '../../../tools/release/tested.ts'
import { filesOf } from '../projects.ts'

/** Where records are kept, and what belongs to them; tests name others. */
const DEFAULTS = { root: join(import.meta.dirname, '../../..'), allFiles: () => Object.values(filesOf('all')).flat() }

/**
 * Writes down that a file to be shipped passed the whole suite, which `npm run release` asks for. Only a run of every test file in which
 * none failed is written down, by the checksum of that file and by the commit. A whole run that fails removes what an earlier one wrote.
 */
export default class TestedReporter implements Reporter {
  readonly #where: typeof DEFAULTS
  #vitest: Vitest | undefined
  #commit: string | null = null

  constructor(where: Partial<typeof DEFAULTS> = {}) {
    this.#where = { ...DEFAULTS, ...where }
  }

  onInit(vitest: Vitest): void {
    this.#vitest = vitest
    this.#commit = commitOfCheckout()
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[], reason: TestRunEndReason): void {
    const { root, allFiles } = this.#where
    const ran = new Set(modules.map(({ moduleId }) => relative(process.cwd(), moduleId)))
    const isWhole = allFiles().every((file) => ran.has(file)) && !this.#vitest?.config.testNamePattern
    const artefact = this.#vitest?.projects
      .map((project) => project.getProvidedContext().artefact)
      .find((found) => found !== undefined)
    if (!isWhole || !artefact) return
    const { name, path } = artefact
    // An executable that was built again meanwhile was not tested from the first test to the last.
    const isUnchanged = path === undefined || (existsSync(path) && sha256(readFileSync(path)) === artefact.sha256)
    if (reason !== 'passed' || errors.length > 0 || !isUnchanged) {
      forgetTested(root, name)
      return
    }
    const tests = modules.flatMap((module) => [...module.children.allTests()])
    const commit = commitOfCheckout()
    writeTested(root, {
      artefact: name,
      sha256: artefact.sha256,
      commit: commit === this.#commit ? commit : null,
      platform: `${process.platform}-${process.arch}`,
      at: new Date().toISOString(),
      passed: tests.filter((test) => test.result().state === 'passed').length,
      skipped: tests.filter((test) => test.result().state === 'skipped').map(({ fullName }) => fullName),
    })
  }
}
