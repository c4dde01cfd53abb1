//! Asks the model: one request, one streamed reply, over plain HTTP.
//!
//! Called once for every step of a turn. It must never ask twice: a request that failed is reported, not repeated.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use hyper::{Request, Response, StatusCode, Uri};
use hyper_util::client::legacy::Client as Http;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;

use super::reply::{Assembly, Reply, ReplyError};
use super::request;
use super::sse::{Decoder, TooLong};

/// How much of a refusal's body is quoted.
const QUOTED_BYTES: usize = 300;

/// A key for the model's server. It is never printed.
#[derive(Clone)]
pub struct ApiKey(String);

impl From<String> for ApiKey {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("…")
    }
}

/// Which model, and how it is reached.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// The address before `/chat/completions`.
    pub base_url: String,
    /// The name of the model.
    pub model: String,
    /// The key, if the server wants one.
    pub key: Option<ApiKey>,
    /// How long the stream may stay silent.
    pub idle: Duration,
}

/// A request that brought no reply.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The address cannot be used.
    #[error("the base URL `{url}` cannot be used: {what}; write http://host:port/path")]
    Address {
        /// The address.
        url: String,
        /// What is wrong with it.
        what: String,
    },
    /// The server was not reached, or the connection broke.
    #[error("{what}")]
    Transport {
        /// What happened.
        what: String,
    },
    /// The server refused.
    #[error("HTTP {status}: {body}")]
    Status {
        /// The status.
        status: u16,
        /// The start of the body.
        body: String,
    },
    /// Nothing came for too long.
    #[error("nothing came from the model for {} ms", idle.as_millis())]
    Silent {
        /// The limit.
        idle: Duration,
    },
    /// A line never ended.
    #[error(transparent)]
    Line(#[from] TooLong),
    /// What came is no reply.
    #[error(transparent)]
    Reply(#[from] ReplyError),
}

impl ModelError {
    /// The kind of failure, in capitals, as it stands on standard error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Address { .. } => "NO_ADAPTER",
            Self::Transport { .. } | Self::Reply(ReplyError::Unfinished) => "TRANSPORT",
            Self::Status {
                status: 401 | 403, ..
            } => "AUTH",
            Self::Status { status: 429, .. } => "RATE_LIMIT",
            Self::Status {
                status: 400..=499, ..
            } => "INVALID_REQUEST",
            Self::Status { .. } => "SERVER",
            Self::Silent { .. } => "TIMEOUT",
            Self::Reply(ReplyError::Empty) => "EMPTY_RESPONSE",
            Self::Reply(ReplyError::Cut { .. }) => "CUT",
            Self::Line(_) | Self::Reply(_) => "STREAM",
        }
    }
}

/// A client that keeps its connections.
#[derive(Debug)]
pub struct Client {
    http: Http<HttpConnector, Full<Bytes>>,
    address: Uri,
    endpoint: Endpoint,
}

impl Client {
    /// A client for one model.
    pub fn new(endpoint: Endpoint) -> Result<Self, ModelError> {
        let url = format!(
            "{}/chat/completions",
            endpoint.base_url.trim_end_matches('/')
        );
        let refused = |what: String| ModelError::Address {
            url: endpoint.base_url.clone(),
            what,
        };
        let address: Uri = url
            .parse()
            .map_err(|error: hyper::http::uri::InvalidUri| refused(error.to_string()))?;
        if address.scheme_str() != Some("http") || address.authority().is_none() {
            return Err(refused("only plain http is spoken".to_owned()));
        }
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        Ok(Self {
            http: Http::builder(TokioExecutor::new()).build(connector),
            address,
            endpoint,
        })
    }

    /// The name of the model.
    pub fn model(&self) -> &str {
        &self.endpoint.model
    }

    /// Sends a conversation and waits for the whole reply.
    pub async fn complete(&self, messages: &[Value], tools: &[Value]) -> Result<Reply, ModelError> {
        let body = request::body(&self.endpoint.model, messages, tools).to_string();
        let response = self
            .within(self.http.request(self.request(body)))
            .await?
            .map_err(transport)?;
        if response.status() != StatusCode::OK {
            return Err(self.refusal(response).await);
        }
        self.reply(response.into_body()).await
    }

    fn request(&self, body: String) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::from(body));
        *request.method_mut() = hyper::Method::POST;
        *request.uri_mut() = self.address.clone();
        let mut set = |name, value: &str| {
            if let Ok(value) = value.parse() {
                request.headers_mut().insert(name, value);
            }
        };
        set(CONTENT_TYPE, "application/json");
        set(USER_AGENT, concat!("reference/", env!("CARGO_PKG_VERSION")));
        if let Some(ApiKey(key)) = &self.endpoint.key {
            set(AUTHORIZATION, &format!("Bearer {key}"));
        }
        request
    }

    async fn refusal(&self, response: Response<Incoming>) -> ModelError {
        let status = response.status().as_u16();
        match self.within(response.into_body().collect()).await {
            Ok(Ok(body)) => {
                let bytes = body.to_bytes();
                let body =
                    String::from_utf8_lossy(&bytes[..bytes.len().min(QUOTED_BYTES)]).into_owned();
                ModelError::Status { status, body }
            }
            Ok(Err(error)) => ModelError::Status {
                status,
                body: format!("(no body: {error})"),
            },
            Err(error) => error,
        }
    }

    /// Reads to the end of the body, so that the connection can be used again; `[DONE]` itself says nothing.
    async fn reply(&self, mut body: Incoming) -> Result<Reply, ModelError> {
        let mut decoder = Decoder::default();
        let mut assembly = Assembly::default();
        while let Some(frame) = self.within(body.frame()).await? {
            let Ok(bytes) = frame.map_err(transport)?.into_data() else {
                continue;
            };
            for data in decoder.push(&bytes)? {
                if data != "[DONE]" {
                    assembly.push(&data)?;
                }
            }
        }
        Ok(assembly.finish()?)
    }

    async fn within<T>(&self, wait: impl Future<Output = T>) -> Result<T, ModelError> {
        let idle = self.endpoint.idle;
        tokio::time::timeout(idle, wait)
            .await
            .map_err(|_| ModelError::Silent { idle })
    }
}

/// The whole chain of causes: the first one alone says only that a request failed.
fn transport(error: impl std::error::Error) -> ModelError {
    let mut what = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        what = format!("{what}: {error}");
        cause = error.source();
    }
    ModelError::Transport { what }
}
