//! What serve knows of its conversation: the proof it verified, the credential it keeps.
//!
//! Used by the proxy. A serve process links one conversation for life; nothing of this reaches the client.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;

use serde_json::{Map, Value, json};

use crate::assumed;
use crate::dirs::Dirs;
use crate::mcp::{frame, key};
use crate::namespace::Token;
use crate::resume::{Credential, ProofKey, hash, key_path};

/// A conversation that the user's own tooling proved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Conversation(String);

/// The keeper of one serve process.
#[derive(Debug)]
pub(super) struct Keeper {
    key_path: PathBuf,
    folder: PathBuf,
    /// Tells the conversations of one namespace from those of another.
    realm: String,
    linked: Option<Conversation>,
    has_presented: bool,
    /// The credential of the session that this connection began with.
    own: Option<Credential>,
    is_filed: bool,
}

impl Keeper {
    pub(super) fn new(dirs: &Dirs, token: Option<&Token>) -> Self {
        Self {
            key_path: key_path(&dirs.state),
            folder: dirs.state.join("serve/credentials"),
            realm: token.map_or("", Token::reveal).to_owned(),
            linked: None,
            has_presented: false,
            own: None,
            is_filed: false,
        }
    }

    /// Takes the proof out of a call; a proved declaration gets the stored credential, once.
    pub(super) fn prepare(&mut self, params: &mut Map<String, Value>) -> Option<Conversation> {
        let tool = params
            .get("name")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        let arguments = params.get_mut("arguments")?.as_object_mut()?;
        let proof = arguments.remove(key::PROOF);
        if tool != "session_start" {
            return None;
        }
        let text = |name: &str| {
            arguments
                .get(name)
                .and_then(Value::as_str)
                .map(str::to_owned)
        };
        let stamp = text(key::ARGUMENT_STAMP).or_else(|| text(key::AGENT))?;
        // A stamp with a slash is a subagent's; it speaks for no conversation.
        if text("session_id").as_ref() != Some(&stamp) || stamp.contains('/') {
            return None;
        }
        let key = ProofKey::read(&self.key_path).ok()?;
        if !key.verifies(&stamp, proof.as_ref()?.as_str()?) {
            return None;
        }
        let conversation = Conversation(stamp);
        if self.linked.get_or_insert_with(|| conversation.clone()) != &conversation {
            return None;
        }
        if !self.has_presented
            && !self.is_filed
            && let Some(credential) = self.stored(&conversation)
        {
            self.has_presented = true;
            let shown = json!(credential.reveal());
            frame::meta_of(params).insert(key::CREDENTIAL.to_owned(), shown);
        }
        Some(conversation)
    }

    /// Takes what is ours out of a result, and keeps it. `conversation` is what [`Keeper::prepare`] gave.
    pub(super) fn settle(
        &mut self,
        result: &mut Value,
        conversation: Option<&Conversation>,
    ) -> io::Result<()> {
        let is_error = result["isError"] == true;
        let outcome = take(result, assumed::RESUME_META);
        let credential = take(result, key::CREDENTIAL).map(|text| Credential::from_text(&text));
        let Some(conversation) = conversation else {
            // Only the handshake and accepted resumes disclose one.
            self.own = credential.or(self.own.take());
            return if self.is_filed { self.file() } else { Ok(()) };
        };
        if is_error {
            self.has_presented = false;
            return Ok(());
        }
        debug_assert!(
            self.linked.as_ref() == Some(conversation),
            "prepare linked it"
        );
        match outcome.as_deref() {
            Some("predecessor-lives") => return Ok(()),
            Some("resumed") => self.own = credential,
            _ if self.is_filed => return Ok(()),
            _ => {}
        }
        self.is_filed = true;
        self.file()
    }

    fn path(&self, conversation: &Conversation) -> PathBuf {
        self.folder
            .join(hash(&format!("{}\0{}", conversation.0, self.realm)))
    }

    fn stored(&self, conversation: &Conversation) -> Option<Credential> {
        let text = fs::read_to_string(self.path(conversation)).ok()?;
        Some(Credential::from_text(text.trim()))
    }

    fn file(&self) -> io::Result<()> {
        let (Some(conversation), Some(own)) = (&self.linked, &self.own) else {
            return Ok(());
        };
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.folder)?;
        let path = self.path(conversation);
        let temp = path.with_extension(format!("{}.tmp", std::process::id()));
        let mut file = fs::OpenOptions::new()
            .create(true)
            .truncate(true)
            .write(true)
            .mode(0o600)
            .open(&temp)?;
        io::Write::write_all(&mut file, own.reveal().as_bytes())?;
        fs::rename(temp, path)
    }
}

/// Removes a string from a result's `_meta`, and the object with its last key.
fn take(result: &mut Value, name: &str) -> Option<String> {
    let meta = result.get_mut("_meta")?.as_object_mut()?;
    let taken = meta.shift_remove(name)?;
    if meta.is_empty() {
        result.as_object_mut()?.shift_remove("_meta");
    }
    taken.as_str().map(str::to_owned)
}
