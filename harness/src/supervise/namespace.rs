//! Creating and releasing a namespace: the guardian's part of a supervisor.
//!
//! Called by the supervisor, before a scenario's processes start and after the last of them has ended. A create that
//! worked but cannot be read is never repeated: a second namespace would hide the first. Must never put a token on a
//! command line, nor print what a successful create said.

use serde::{Deserialize, Serialize};

use super::{
    call::{Answer, CallError, Extra, run},
    notice::{Notice, Release, Status},
    order::Call,
};
use crate::plumb::{
    dialect::{Dialect, Standing, TokenBy},
    secret::Secret,
};

/// Bytes of a failed command's output that go into a notice.
const TOLD: usize = 2000;

/// A namespace that must be released, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Held {
    pub(crate) id: String,
    pub(crate) token: Secret,
    pub(crate) plumb: Call,
    pub(crate) dialect: Dialect,
}

/// Creates a namespace; the notice says what came of it either way.
pub(crate) fn create(plumb: Call, dialect: Dialect, owner: u32) -> Result<Held, Notice> {
    let args = dialect.create_args(owner);
    let answer = run(
        &plumb,
        &Extra {
            args: &args,
            ..Extra::default()
        },
    )
    .map_err(|error| Notice::NamespaceFailed {
        what: match &error {
            CallError::Start { .. } => error.to_string(),
            _ => format!("{error}; if it made a namespace, {}", what_ends_it(owner)),
        },
        exit: None,
        said: String::new(),
    })?;
    if answer.status != Status::Code(0) {
        let said = tell(&answer);
        return Err(Notice::NamespaceFailed {
            what: "create failed".into(),
            exit: Some(answer.status),
            said,
        });
    }
    match dialect.read_created(&answer.stdout) {
        Ok(created) => Ok(Held {
            id: created.id,
            token: created.token,
            plumb,
            dialect,
        }),
        Err(error) => Err(Notice::NamespaceFailed {
            what: format!(
                "{error}; create said it worked, so a namespace exists: {}",
                what_ends_it(owner)
            ),
            exit: Some(answer.status),
            said: format!(
                "withheld, a token may be in it: {} bytes on stdout, {} on stderr",
                answer.stdout.len(),
                answer.stderr.len()
            ),
        }),
    }
}

/// Releases a namespace and looks whether the list shows it revoked.
pub(crate) fn release(held: &Held) -> Release {
    let said = match run(&held.plumb, &release_extra(held)) {
        Ok(answer) if answer.status == Status::Code(0) => "released".to_owned(),
        Ok(answer) => format!(
            "release ended with {:?}: {}",
            answer.status,
            held.token.mask(&tell(&answer))
        ),
        Err(error) => format!("release: {error}"),
    };
    let (revoked, listed) = match run(
        &held.plumb,
        &Extra {
            args: &held.dialect.list,
            ..Extra::default()
        },
    ) {
        Ok(answer) if answer.status == Status::Code(0) => {
            match held.dialect.read_standing(&answer.stdout, &held.id) {
                Ok(Standing::Revoked(state)) => (true, format!("listed as {state}")),
                Ok(Standing::Other(state)) => (false, format!("still listed as {state}")),
                Ok(Standing::Unlisted) => (false, "not listed, so not shown revoked".into()),
                Err(error) => (false, format!("list: {error}")),
            }
        }
        Ok(answer) => (
            false,
            format!(
                "list ended with {:?}: {}",
                answer.status,
                held.token.mask(&tell(&answer))
            ),
        ),
        Err(error) => (false, format!("list: {error}")),
    };
    Release {
        id: held.id.clone(),
        revoked,
        detail: format!("{said}; {listed}"),
    }
}

fn release_extra(held: &Held) -> Extra<'_> {
    let args = held.dialect.release.as_slice();
    match &held.dialect.release_token {
        TokenBy::Env(name) => Extra {
            args,
            env: Some((name, held.token.expose())),
            input: None,
        },
        TokenBy::Stdin => Extra {
            args,
            env: None,
            input: Some(held.token.expose()),
        },
    }
}

fn what_ends_it(owner: u32) -> String {
    format!("its ttl, or plumb five minutes after its owner {owner} has ended")
}

/// Both streams of a command that failed.
fn tell(answer: &Answer) -> String {
    let part = |bytes: &[u8]| {
        String::from_utf8_lossy(&bytes[..bytes.len().min(TOLD)])
            .trim()
            .to_owned()
    };
    let parts = [part(&answer.stdout), part(&answer.stderr)];
    parts
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("\n")
}
