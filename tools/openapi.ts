import { readFileSync, writeFileSync } from 'node:fs'
import { contract, toYaml } from './contract.ts'
import { refuseUnusedRows } from './contract-components.ts'
import { pageJson } from './contract-page.ts'
import { contractVariants } from './contract-variants.ts'
import { postmanCollection, postmanEnvironment } from './postman.ts'
import { withReferenceTables } from './reference-tables.ts'
import { toJson } from './to-json.ts'

const root = new URL('../', import.meta.url)
const reference = new URL('docs/reference.md', root)
const document = await contract()
refuseUnusedRows(document)
const variants = await contractVariants(document)

writeFileSync(new URL('openapi.yaml', root), toYaml(document))
writeFileSync(new URL('src/docs/page/reference.json', root), pageJson(document))
writeFileSync(new URL('src/docs/contract-variants.json', root), toJson(variants))
writeFileSync(new URL('deploy/postman/teslim.postman_collection.json', root), toJson(postmanCollection(document)))
writeFileSync(new URL('deploy/postman/teslim.postman_environment.json', root), toJson(postmanEnvironment))
writeFileSync(reference, withReferenceTables(readFileSync(reference, 'utf8')))
