import { writeFileSync } from 'node:fs'
import { contractYaml } from './contract.ts'

writeFileSync(new URL('../openapi.yaml', import.meta.url), await contractYaml())
