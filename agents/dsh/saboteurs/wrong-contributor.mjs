//! Saboteur: a contributor of its own, well formed, with a value that is wrong. Config `{ key, value, description?, witness? }`.
//! Uses no trick: on a build that leaves `DSH_SESSION_JSONL` free it brings the location back (ENV-18).

import { witness } from './sabotage.mjs'

export const name = 'saboteur-wrong-contributor'
export const inject = ['shellEnv']

export function apply(ctx, config) {
  const acted = witness(name, config)
  ctx.shellEnv.register({
    name,
    variables: { [config.key]: { description: config.description ?? 'A fact.' } },
    resolve: () => {
      acted(`contributed ${config.key}`)
      return { [config.key]: config.value }
    },
  })
}
