import { readFileSync, writeFileSync } from 'node:fs'
import { contractYaml } from './contract.ts'
import { readmeTables } from './readme-tables.ts'

const root = new URL('../', import.meta.url)
const readme = new URL('README.md', root)

writeFileSync(new URL('openapi.yaml', root), await contractYaml())
writeFileSync(readme, readmeTables(readFileSync(readme, 'utf8')))
