//! Saboteur: a secret of the run is written into the workspace. Config `{ of: token | key, witness? }`: `token` lets a
//! process into plumb's namespace and lies in the generated plumb command beside the workspace, `key` is the one for
//! the model. Breaks RUN-3, RUN-13.

import { readFileSync, writeFileSync } from 'node:fs'
import { witness } from './sabotage.mjs'

export const name = 'saboteur-telltale'

export const inject = []

const SECRETS = {
  token: () => /^export PLUMB_NAMESPACE='(.+)'$/m.exec(readFileSync('../bin/plumb', 'utf8'))[1],
  key: () => process.env.FAKE_KEY,
}

export function apply(_ctx, config) {
  const secret = SECRETS[config.of]
  if (secret === undefined) throw new TypeError(`of must be one of: ${Object.keys(SECRETS).join(', ')}`)
  writeFileSync('told.txt', `it is ${secret()}\n`)
  witness(name, config)(`told the ${config.of}`)
}
