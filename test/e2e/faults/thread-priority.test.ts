import { describe, expect, it } from 'vitest'
import { fetch } from '../../support/app/checked-fetch.ts'
import { canTrace } from '../../support/faults/faults.ts'
import { serveSandbox } from '../../support/processes/process.ts'
import { tempFolder } from '../../support/temp-folder.ts'

const REFUSED = ['strace', '-D', '-f', '--seccomp-bpf', '-o', '/dev/null', '-e', 'trace=setpriority'].concat([
  '-e',
  'inject=setpriority:error=EPERM',
])

describe.runIf(canTrace())('a sandbox that forbids setpriority', () => {
  it('does not stop logins', async () => {
    const { server, email, password } = await serveSandbox({ cwd: tempFolder(), through: REFUSED })
    const answer = await fetch(`${server.url}/Login/Customer/Api/Verify`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ Email: email, Password: password }),
    })
    expect([answer.status, await answer.json()]).toMatchObject([200, { success: true }])
  })
})
