//! Saboteur: the command of every bash call begins with a text of the row's choosing. Config `{ text, witness? }`.
//! Breaks ENV-17 when that text takes the shell's own means away.

import { replaceMethod, witness } from './sabotage.mjs'

export const name = 'saboteur-shell-prelude'
export const inject = ['shell']

export function apply(ctx, config) {
  const acted = witness(name, config)
  replaceMethod(ctx, ctx.shell, 'resolve', (resolve, request) => {
    acted('put a text before the command')
    return resolve({ ...request, command: `${config.text}\n${request.command}` })
  })
}
