//! Proofs and credentials: how a replacement serve shows that it speaks for the same conversation.
//!
//! The hook makes proofs, serve verifies them, the daemon issues credentials. Neither a key, a proof nor a
//! credential is ever printed, logged or sent to a client.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256};
use thiserror::Error;

/// What a proof signs before the stamp (facts, section 6).
const PROOF_DOMAIN: &[u8] = b"resume-v1\0";

/// Random bytes of the system.
pub(crate) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the kernel gives random bytes to every running process");
    bytes
}

/// The key under which the user's own tooling proves a stamp. Never shown.
pub(crate) struct ProofKey([u8; 32]);

impl fmt::Debug for ProofKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProofKey(…)")
    }
}

/// Why there is no usable key.
#[derive(Debug, Error)]
pub(crate) enum KeyError {
    #[error("hook proof key {path} is open to others; remove it, the hook makes a new one")]
    OpenToOthers { path: PathBuf },
    #[error(
        "hook proof key {path} is not a regular file of 32 bytes; remove it, the hook makes a new one"
    )]
    Malformed { path: PathBuf },
    #[error("hook proof key {path}")]
    Io { path: PathBuf, source: io::Error },
}

/// Where the key is: `<state>/serve/hook-proof.key`.
pub(crate) fn key_path(state: &Path) -> PathBuf {
    state.join("serve/hook-proof.key")
}

impl ProofKey {
    /// Reads the key and refuses one that others can read.
    pub(crate) fn read(path: &Path) -> Result<Self, KeyError> {
        let failed = |source| KeyError::Io {
            path: path.to_owned(),
            source,
        };
        let meta = fs::symlink_metadata(path).map_err(failed)?;
        if !meta.is_file() || meta.len() != 32 {
            return Err(KeyError::Malformed {
                path: path.to_owned(),
            });
        }
        if meta.mode() & 0o077 != 0 {
            return Err(KeyError::OpenToOthers {
                path: path.to_owned(),
            });
        }
        let mut key = [0; 32];
        File::open(path)
            .and_then(|mut file| file.read_exact(&mut key))
            .map_err(failed)?;
        Ok(Self(key))
    }

    /// Reads the key, making it on first use; of two makers the first wins and both use its key.
    pub(crate) fn read_or_create(path: &Path) -> Result<Self, KeyError> {
        let failed = |source| KeyError::Io {
            path: path.to_owned(),
            source,
        };
        if let Err(error) = fs::symlink_metadata(path) {
            if error.kind() != io::ErrorKind::NotFound {
                return Err(failed(error));
            }
            let dir = path.parent().unwrap_or(Path::new("/"));
            fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(dir)
                .map_err(failed)?;
            let mut temp = tempfile::NamedTempFile::new_in(dir).map_err(failed)?;
            temp.write_all(&random::<32>()).map_err(failed)?;
            if let Err(lost) = temp.persist_noclobber(path)
                && lost.error.kind() != io::ErrorKind::AlreadyExists
            {
                return Err(failed(lost.error));
            }
        }
        Self::read(path)
    }

    /// The proof of a stamp: 43 characters of base64url.
    pub(crate) fn prove(&self, stamp: &str) -> String {
        URL_SAFE_NO_PAD.encode(self.mac(stamp).finalize().into_bytes())
    }

    /// Whether `proof` is this key's for `stamp`, compared in constant time.
    pub(crate) fn verifies(&self, stamp: &str, proof: &str) -> bool {
        URL_SAFE_NO_PAD
            .decode(proof)
            .is_ok_and(|proof| self.mac(stamp).verify_slice(&proof).is_ok())
    }

    fn mac(&self, stamp: &str) -> Hmac<Sha256> {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes a key of any length");
        mac.update(PROOF_DOMAIN);
        mac.update(stamp.as_bytes());
        mac
    }
}

/// A secret that resumes one session once. Its `Debug` shows nothing.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Credential(String);

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credential(…)")
    }
}

impl Credential {
    /// Makes one: `rsk1-` and 22 characters of base64url.
    pub(crate) fn new() -> Self {
        Self(format!("rsk1-{}", URL_SAFE_NO_PAD.encode(random::<16>())))
    }

    pub(crate) fn from_text(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The text itself, for the wire between serve and daemon and for serve's own store.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// What the daemon keeps of it.
    pub(crate) fn hash(&self) -> String {
        hash(&self.0)
    }
}

/// SHA-256 in hex; enough for a secret of 128 random bits.
pub(crate) fn hash(secret: &str) -> String {
    use fmt::Write;
    Sha256::digest(secret)
        .iter()
        .fold(String::new(), |mut hex, byte| {
            write!(hex, "{byte:02x}").expect("writing to a string cannot fail");
            hex
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_is_bound_to_key_and_stamp() {
        let key = ProofKey([7; 32]);
        let proof = key.prove("dsh-ws-1");
        assert_eq!(proof.len(), 43);
        assert!(key.verifies("dsh-ws-1", &proof));
        assert!(!key.verifies("dsh-ws-2", &proof));
        assert!(!ProofKey([8; 32]).verifies("dsh-ws-1", &proof));
        assert!(!key.verifies("dsh-ws-1", "not base64!"));
    }

    #[test]
    fn a_key_is_made_once_and_refused_when_others_can_read_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = key_path(dir.path());
        let first = ProofKey::read_or_create(&path).unwrap();
        let second = ProofKey::read_or_create(&path).unwrap();
        assert_eq!(first.prove("x"), second.prove("x"));
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o640);
        fs::set_permissions(&path, open).unwrap();
        assert!(matches!(
            ProofKey::read(&path),
            Err(KeyError::OpenToOthers { .. })
        ));
    }

    #[test]
    fn secrets_do_not_show_in_debug_prints() {
        let credential = Credential::new();
        assert_eq!(credential.reveal().len(), 27);
        assert!(!format!("{credential:?} {:?}", ProofKey([1; 32])).contains(credential.reveal()));
    }
}
