//! The operations by name: the one table that the interpreter, the tests and NOTES.md agree on.
//! Must never hold logic.

import { exit, processEnv, touch, until } from './facts.mjs'
import { locate, openFile, persistenceStub, persistenceSwap, persistenceUnstub } from './persistence.mjs'
import { collect, disposeContributor, list, register, reloadContributor } from './registry.mjs'
import { create, dispose, fork, idle, prompt, promptStart, resume, spawn, wait } from './sessions.mjs'
import { envEntry, jobOutput, tool, tools } from './tools.mjs'

export const operations = {
  create,
  spawn,
  fork,
  resume,
  prompt,
  prompt_start: promptStart,
  wait,
  idle,
  dispose,
  tool,
  tools,
  job_output: jobOutput,
  env_entry: envEntry,
  register,
  dispose_contributor: disposeContributor,
  reload_contributor: reloadContributor,
  list,
  collect,
  locate,
  persistence_swap: persistenceSwap,
  persistence_stub: persistenceStub,
  persistence_unstub: persistenceUnstub,
  open_file: openFile,
  process_env: processEnv,
  until,
  touch,
  exit,
}
