//! A request as the server hands it to the desk, and as the journal keeps it.
//! Secrets stop here: no header that may hold a key leaves with its value.

use axum::http::{HeaderMap, Method};
use bytes::Bytes;

use crate::event::{BodyText, Kind, RequestSeen};

/// Headers whose values never reach the journal.
const SECRET: [&str; 5] = [
    "authorization",
    "proxy-authorization",
    "api-key",
    "x-api-key",
    "cookie",
];

/// A request, whole.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) method: Method,
    /// Path and query as they were sent.
    pub(crate) target: String,
    /// The path below the tenant's base URL.
    pub(crate) below: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Received {
    /// What the journal keeps of it.
    pub(crate) fn seen(
        &self,
        kind: Kind,
        session: Option<String>,
        step: Option<usize>,
    ) -> Box<RequestSeen> {
        let headers = self.headers.iter().map(|(name, value)| {
            let is_secret = SECRET.contains(&name.as_str());
            let shown = if is_secret {
                "…".into()
            } else {
                String::from_utf8_lossy(value.as_bytes())
            };
            (name.to_string(), shown.into_owned())
        });
        Box::new(RequestSeen {
            kind,
            session,
            step,
            method: self.method.to_string(),
            path: self.target.clone(),
            headers: headers.collect(),
            body: BodyText(self.body.clone()),
            body_bytes: self.body.len(),
        })
    }
}
