//! The lines between runner, warden and supervisors: one JSON value a line.
//!
//! Called by all three. The pipes are private to them, and this is the only place that writes a token's value, beside
//! a notice and never in it. Must never be written to a file.

use std::io::Write as _;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{namespace::Held, notice::Notice, order::Order};
use crate::{clock::Moment, plumb::secret::Secret};

/// Runner to warden.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ToWarden {
    /// The supervisor meant.
    pub(crate) name: String,
    pub(crate) ask: Ask,
}

/// What is asked of the warden.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Ask {
    /// Start a supervisor.
    Open(Last),
    /// Pass an order on.
    Order(Box<Order>),
    /// Close its input, so that it ends.
    Close,
}

/// Whether a supervisor is closed with the others or after them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Last {
    /// A scenario's.
    WithTheOthers,
    /// The run-wide daemon's.
    AfterTheOthers,
}

/// Warden to runner.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FromWarden {
    pub(crate) name: String,
    pub(crate) news: News,
}

/// What the warden tells.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum News {
    /// A notice, of the supervisor or on its behalf.
    Said(FromSupervisor),
    /// Nothing more will come of that name.
    Closed,
    /// The warden cannot do what was asked.
    Trouble(String),
}

/// Warden to supervisor.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ToSupervisor {
    /// An order of the runner.
    Order(Box<Order>),
    /// Take over a namespace of a supervisor that died.
    Adopt {
        held: Box<Held>,
        /// The value that `held` does not serialise.
        token: String,
    },
}

/// Supervisor to warden.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FromSupervisor {
    /// When, absolute.
    pub(crate) at: Moment,
    pub(crate) notice: Notice,
    /// The value that the notice does not serialise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    token: Option<String>,
}

impl FromSupervisor {
    /// Stamps a notice with the time.
    pub(crate) fn now(notice: Notice) -> Self {
        let token = match &notice {
            Notice::Namespace { token, .. } => Some(token.expose().to_owned()),
            _ => None,
        };
        Self {
            at: Moment::now(),
            notice,
            token,
        }
    }

    /// Gives the token back to a notice that was read.
    fn restored(mut self) -> Self {
        if let (Notice::Namespace { token, .. }, Some(value)) = (&mut self.notice, &self.token) {
            *token = Secret::new(value.clone());
        }
        self
    }
}

impl ToSupervisor {
    /// Hands a namespace over.
    pub(crate) fn adopt(held: Held) -> Self {
        let token = held.token.expose().to_owned();
        Self::Adopt {
            held: Box::new(held),
            token,
        }
    }
}

/// A value that crosses a pipe as one line.
pub(crate) trait Line: Serialize + DeserializeOwned {
    /// Writes the line, with its end.
    fn to_line(&self) -> String {
        let mut line = serde_json::to_string(self)
            .expect("maps have text keys, so these types always serialise");
        line.push('\n');
        line
    }

    /// Reads a line.
    fn from_line(line: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(line)
    }
}

/// Writes a line to standard output. A reader that is gone cannot be told; the end of input says so by itself.
pub(crate) fn write_line(line: &impl Line) {
    let mut stdout = std::io::stdout().lock();
    drop(
        stdout
            .write_all(line.to_line().as_bytes())
            .and_then(|()| stdout.flush()),
    );
}

impl Line for ToWarden {}

impl Line for FromWarden {
    fn from_line(line: &str) -> Result<Self, serde_json::Error> {
        let mut read: Self = serde_json::from_str(line)?;
        if let News::Said(said) = read.news {
            read.news = News::Said(said.restored());
        }
        Ok(read)
    }
}

impl Line for FromSupervisor {
    fn from_line(line: &str) -> Result<Self, serde_json::Error> {
        Ok(serde_json::from_str::<Self>(line)?.restored())
    }
}

impl Line for ToSupervisor {
    fn from_line(line: &str) -> Result<Self, serde_json::Error> {
        let mut read = serde_json::from_str(line)?;
        if let Self::Adopt { held, token } = &mut read {
            held.token = Secret::new(std::mem::take(token));
        }
        Ok(read)
    }
}

/// Bytes on their way to lines.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    rest: Vec<u8>,
}

impl Lines {
    /// Adds bytes and gives the lines that are whole.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Vec<String> {
        self.rest.extend_from_slice(bytes);
        let Some(end) = self.rest.iter().rposition(|&byte| byte == b'\n') else {
            return Vec::new();
        };
        let whole: Vec<u8> = self.rest.drain(..=end).collect();
        whole[..end]
            .split(|&byte| byte == b'\n')
            .map(|line| String::from_utf8_lossy(line).into_owned())
            .collect()
    }
}
