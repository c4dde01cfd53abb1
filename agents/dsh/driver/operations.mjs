//! The operations by name: the one table that the interpreter, the tests and NOTES.md agree on.
//! Must never hold logic.

import { create, dispose, fork, prompt, promptStart, resume, spawn, wait } from './sessions.mjs'
import { envEntry, tool } from './tools.mjs'

export const operations = {
  create,
  spawn,
  fork,
  resume,
  prompt,
  prompt_start: promptStart,
  wait,
  dispose,
  tool,
  env_entry: envEntry,
}
