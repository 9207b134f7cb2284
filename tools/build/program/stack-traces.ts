// Lets stack traces name lines of the source, as they do in a checkout. A map is read when the first trace needs it.
import { SourceMap } from 'node:module'
import { readProgramFile } from '#src/lib/program-files.ts'

const maps = new Map<string, SourceMap | undefined>()

function mapOf(module: string): SourceMap | undefined {
  if (!maps.has(module)) {
    // Modules of Node and of packages outside have none.
    let map: SourceMap | undefined
    try {
      map = new SourceMap(JSON.parse(readProgramFile(new URL(`${module}.map`))))
    } catch {}
    maps.set(module, map)
  }
  return maps.get(module)
}

function inSource(frame: NodeJS.CallSite): string {
  const text = String(frame)
  const [module, line, column] = [frame.getScriptNameOrSourceURL(), frame.getLineNumber(), frame.getColumnNumber()]
  if (!module?.startsWith('file:') || line === null || column === null) return text
  const found = mapOf(module)?.findEntry(line - 1, column - 1)
  if (found === undefined || !('originalSource' in found)) return text
  const { originalSource, originalLine, originalColumn } = found
  const place = `${originalSource.replace(/^(?:\.\.\/)+/, '')}:${originalLine + 1}:${originalColumn + 1}`
  return text.replace(`${module}:${line}:${column}`, place)
}

/** Of the trace that Node puts into each report about the process, which a server asks for at its start. */
const isOfReport = (error: Error): boolean => 'code' in error && error.code === 'ERR_SYNTHETIC'

/** As Node writes it: with the code of its own errors. */
function headOf(error: Error): string {
  const head = Error.prototype.toString.call(error)
  const isOfNode = 'code' in error && typeof error.code === 'string' && error.code.startsWith('ERR_')
  return isOfNode ? head.replace(error.name, `${error.name} [${error.code}]`) : head
}

Error.prepareStackTrace = (error, frames) => {
  const show = isOfReport(error) ? String : inSource
  return [headOf(error), ...frames.map((frame) => `    at ${show(frame)}`)].join('\n')
}
