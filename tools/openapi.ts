import { readFileSync, writeFileSync } from 'node:fs'
import { refuseUnusedRows } from '#src/docs/contract/components.ts'
import { TEXTS } from '#src/docs/contract/contract.ts'
import { contract } from './contract.ts'
import { postmanCollection, postmanEnvironment } from './postman.ts'
import { publicNames, withNames } from './public-names.ts'
import { withReferenceTables } from './reference-tables.ts'
import { toJson } from './to-json.ts'

const root = new URL('../', import.meta.url)
const reference = new URL('docs/reference.md', root)
const names = new URL('docs/names.txt', root)
const document = await contract()
refuseUnusedRows(document)

writeFileSync(new URL('openapi.yaml', root), await TEXTS.yaml(document))
writeFileSync(new URL('deploy/postman/teslim.postman_collection.json', root), toJson(postmanCollection(document)))
writeFileSync(new URL('deploy/postman/teslim.postman_environment.json', root), toJson(postmanEnvironment))
writeFileSync(reference, withReferenceTables(readFileSync(reference, 'utf8')))
// Last, because it reads what stands above.
writeFileSync(names, withNames(readFileSync(names, 'utf8'), await publicNames()))
