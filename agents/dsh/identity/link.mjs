// An agent's own connection, opened and declared.
// Called by connection through index, once for each new serve. The declaration
// here goes out with the resume proof and is never forced: nothing else shares
// this connection. Must leave no serve behind when it fails.
import { declarationOf, declare, reportOutcome } from './declare.mjs'
import { mintId } from './mint.mjs'
import { plumbCommand } from './options.mjs'
import { askProof } from './proof.mjs'
import { childEnv, directoryOf, openServe } from './serve.mjs'
import { messageOf, redact } from './text.mjs'
import { PROOF_KEY } from './wire.mjs'

/**
 * Returns the link `{ client, tools, isClosed, close, proof }`; `proof(declaration)`
 * gives the two fields to add to a declaration, or none. Rejects when there is no
 * connection to use.
 */
export async function openLink({ caller, options, voice, env, sdk, own, mailUnknown, unmounted }) {
  const id = mintId(options.idPrefix, caller)
  const where = { command: plumbCommand(options, env), env: childEnv(env), cwd: directoryOf(caller.workspace), unmounted }
  const serve = await openServe({
    ...where,
    sdk,
    onClient: (client) => own.add(client),
    onClosed: () => voice.trace(`${id}: its serve has ended`),
  })
  const proof = proofOf({ where, id, options, voice })
  const declaration = declarationOf(options, caller, id)
  try {
    const fields = await proof(declaration)
    const outcome = await declare({ client: serve.client, declaration: { ...declaration, ...fields }, connection: 'own', mailUnknown })
    reportOutcome({ voice, id, outcome: redact(outcome, fields[PROOF_KEY]), connection: 'own' })
  } catch (error) {
    if (serve.isClosed()) throw new Error(`${where.command} serve ended before ${id} was declared`)
    voice.warn(`declaration ${id}`, `the declaration of ${id} failed on its own connection: ${messageOf(error)}`)
  }
  return { ...serve, proof }
}

/** Asks for the proof of `id`, again only while there is none. */
function proofOf({ where, id, options, voice }) {
  let proven
  return async (declaration) => {
    if (!options.resumeProof) return {}
    if (proven === undefined) {
      const answer = await askProof({ ...where, id, declaration, timeoutMs: options.resumeProofTimeoutMs })
      proven = answer.fields
      if (answer.none !== undefined) voice.warnProcess('no proof', `plumb gave no resume proof, so after an idle close an agent is resumed by name only, and mail bound to its last connection is not delivered: ${answer.none}`)
    }
    return proven ?? {}
  }
}
