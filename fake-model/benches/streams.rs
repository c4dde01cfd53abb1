//! Streams a second of the fake model against a bare axum server that sends the same frames, interleaved in one run.
//! `cargo bench -p fake-model`. Prints medians and the ratio; it asserts nothing, for machines differ.
//! The bare server does the same work in the least code: a typed parse, a look at the messages, a bounded journal of bodies,
//! each frame serialised for its request, one write a frame, NODELAY. It has no script, no laws and no events.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::serve::ListenerExt;
use bytes::Bytes;
use fake_model::FakeModel;
use futures::Stream;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Handle, Runtime};

/// Pairs of rounds; the median of the ratios is what counts.
const ROUNDS: usize = 15;
/// Streams in a round, over all connections.
const STREAMS: usize = 1_600;

/// Sessions of a tenant: a tenant is one agent process, which has a handful.
const SESSIONS: usize = 16;

/// What is asked of one of the servers in a round: path and body, by connection.
struct Load {
    address: String,
    asks: Vec<Vec<(String, String)>>,
}

fn main() -> io::Result<()> {
    let server = worker()?;
    let client = worker()?;
    let model = client.block_on(async { server.spawn(FakeModel::start()).await })??;
    let frames = client.block_on(sample(&model, server.handle()))?;
    let bare = client.block_on(server.spawn(bare(frames.clone())))??;
    print(&format!(
        "{} frames a stream, {STREAMS} streams a round, {ROUNDS} pairs of rounds\n",
        frames.len()
    ))?;
    for connections in [1, 16] {
        let mut pairs = Vec::new();
        for round in 0..ROUNDS {
            let load = fake_load(&model, server.handle(), connections, round);
            let plain = plain_load(&bare, &load);
            // The order changes, so that neither always runs on a warmer machine.
            let (ours, theirs) = if round % 2 == 0 {
                let ours = client.block_on(rate(load))?;
                (ours, client.block_on(rate(plain))?)
            } else {
                let theirs = client.block_on(rate(plain))?;
                (client.block_on(rate(load))?, theirs)
            };
            pairs.push((ours, theirs));
        }
        let ours = median(pairs.iter().map(|pair| pair.0));
        let theirs = median(pairs.iter().map(|pair| pair.1));
        let ratio = median(pairs.iter().map(|pair| pair.0 / pair.1));
        print(&format!(
            "c{connections}: fake model {ours:.0}/s, bare axum {theirs:.0}/s, median ratio {ratio:.2}\n"
        ))?;
    }
    Ok(())
}

fn worker() -> io::Result<Runtime> {
    Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
}

fn print(text: &str) -> io::Result<()> {
    io::Write::write_all(&mut io::stdout(), text.as_bytes())
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The path of the bare server.
const PLAIN: &str = "/v1/chat/completions";

const REPLY: &str =
    "the quick brown fox jumps over the lazy dog and then it rests for a while under the old tree";

fn body(opening: &str) -> String {
    // About the length of a real agent's first request.
    let filler = "You are an agent. ".repeat(1_000);
    json!({
        "model": "fake-model", "stream": true, "stream_options": {"include_usage": true},
        "messages": [{"role": "system", "content": filler}, {"role": "user", "content": format!("{opening} go")}],
        "tools": [{"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}],
    })
    .to_string()
}

/// New tenants in which every request of the round is the first of its session.
fn fake_load(model: &FakeModel, server: &Handle, connections: usize, round: usize) -> Load {
    let _inside = server.enter();
    let sessions: Vec<_> = (0..SESSIONS)
        .map(|index| json!({"name": format!("s{index}"), "opening": opening(index)}))
        .collect();
    let replies: Vec<_> = (0..SESSIONS)
        .map(|index| json!({"session": format!("s{index}"), "step": 0, "reply": {"say": REPLY}}))
        .collect();
    let script = json!({"sessions": sessions, "replies": replies});
    let mut asks = vec![Vec::new(); connections];
    for number in 0..STREAMS / SESSIONS {
        let name = format!("c{connections}-r{round}-{number}");
        let mut tenant = model.tenant(&name, &script).expect("the script is sound");
        let mut events = tenant.take_events().expect("they are taken once");
        server.spawn(async move { while events.recv().await.is_some() {} });
        let path = format!("/t/{name}/v1/chat/completions");
        asks[number % connections]
            .extend((0..SESSIONS).map(|index| (path.clone(), body(&opening(index)))));
    }
    Load {
        address: model.url().replace("http://", ""),
        asks,
    }
}

/// The same bodies for the bare server.
fn plain_load(address: &str, load: &Load) -> Load {
    let asks = load.asks.iter().map(|asks| {
        asks.iter()
            .map(|(_, body)| (PLAIN.to_owned(), body.clone()))
            .collect()
    });
    Load {
        address: address.to_owned(),
        asks: asks.collect(),
    }
}

fn opening(index: usize) -> String {
    format!("[s{index:02}]")
}

/// The chunks of one reply, for the bare server.
async fn sample(model: &FakeModel, server: &Handle) -> io::Result<Vec<Value>> {
    let load = fake_load(model, server, 1, usize::MAX);
    let mut stream = TcpStream::connect(&load.address).await?;
    let (path, body) = &load.asks[0][0];
    let answer = exchange(&mut stream, path, body).await?;
    let text = String::from_utf8_lossy(&answer).into_owned();
    let data = text
        .split("\r\n")
        .filter_map(|line| line.strip_prefix("data: {"));
    Ok(data
        .map(|rest| serde_json::from_str(&format!("{{{}", rest.trim_end())))
        .collect::<Result<_, _>>()?)
}

/// Streams a second.
async fn rate(load: Load) -> io::Result<f64> {
    let since = Instant::now();
    let mut running = Vec::new();
    for asks in load.asks {
        let address = load.address.clone();
        running.push(tokio::spawn(async move {
            let mut stream = TcpStream::connect(&address).await?;
            stream.set_nodelay(true)?;
            for (path, body) in asks {
                exchange(&mut stream, &path, &body).await?;
            }
            io::Result::Ok(())
        }));
    }
    for connection in running {
        connection.await??;
    }
    #[expect(clippy::cast_precision_loss, reason = "a count of some thousands")]
    Ok(STREAMS as f64 / since.elapsed().as_secs_f64())
}

async fn exchange(stream: &mut TcpStream, path: &str, body: &str) -> io::Result<Vec<u8>> {
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\nauthorization: k\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream
        .write_all(&[head.as_bytes(), body.as_bytes()].concat())
        .await?;
    let mut answer = Vec::with_capacity(16 << 10);
    while !answer.ends_with(b"\r\n0\r\n\r\n") {
        if stream.read_buf(&mut answer).await? == 0 {
            return Err(io::Error::other(
                String::from_utf8_lossy(&answer).into_owned(),
            ));
        }
    }
    if answer.starts_with(b"HTTP/1.1 200") {
        Ok(answer)
    } else {
        Err(io::Error::other("not a 200"))
    }
}

/// What the bare server keeps.
struct Bare {
    chunks: Vec<Value>,
    bodies: Mutex<VecDeque<Bytes>>,
}

/// Starts the bare server and returns its address.
async fn bare(chunks: Vec<Value>) -> io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?.to_string();
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    let bare = Arc::new(Bare {
        chunks,
        bodies: Mutex::default(),
    });
    let router = Router::new().route(PLAIN, post(reply)).with_state(bare);
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(address)
}

#[derive(Deserialize)]
struct Request {
    messages: Vec<Message>,
    stream: bool,
}

#[derive(Deserialize)]
struct Message {
    content: String,
}

async fn reply(State(bare): State<Arc<Bare>>, body: Bytes) -> Response {
    let known = serde_json::from_slice::<Request>(&body).is_ok_and(|request| {
        request.stream
            && request
                .messages
                .iter()
                .any(|message| message.content.starts_with("[s"))
    });
    if !known {
        return axum::http::StatusCode::BAD_REQUEST.into_response();
    }
    if let Ok(mut bodies) = bare.bodies.lock() {
        bodies.push_back(body);
        bodies.truncate(64);
    }
    let mut frames: Vec<Bytes> = bare
        .chunks
        .iter()
        .map(|chunk| format!("data: {chunk}\n\n").into())
        .collect();
    frames.push(Bytes::from_static(b"data: [DONE]\n\n"));
    let frames = OneByOne {
        frames: frames.into_iter(),
        must_flush: false,
    };
    (
        [
            ("content-type", "text/event-stream"),
            ("cache-control", "no-cache"),
        ],
        Body::from_stream(frames),
    )
        .into_response()
}

struct OneByOne {
    frames: std::vec::IntoIter<Bytes>,
    must_flush: bool,
}

impl Stream for OneByOne {
    type Item = io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if std::mem::take(&mut self.must_flush) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let frame = self.frames.next();
        self.must_flush = self.frames.len() > 0;
        Poll::Ready(frame.map(Ok))
    }
}
