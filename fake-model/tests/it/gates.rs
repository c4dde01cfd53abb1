//! Replies that wait, clients that leave, servers that stop.

use serde_json::json;
use tokio::io::AsyncReadExt;

use crate::client::{Setup, assistant, laws, main_request, names, receive, send, user, within};

fn script() -> serde_json::Value {
    json!({
        "sessions": [{"name": "main", "opening": "[main]"}],
        "replies": [
            {"session": "main", "step": 0, "gates": ["a", "b"], "reply": {"say": "held"}},
            {"session": "main", "step": 1, "reply": {"say": "after"}},
        ]
    })
}

#[tokio::test]
async fn nothing_goes_out_before_all_gates_are_open() {
    let mut setup = Setup::new(&script()).await;
    let mut stream = setup.connect().await;
    send(
        &mut stream,
        &setup.path("/chat/completions"),
        &main_request(&[user("[main] go")]),
    )
    .await;
    assert_eq!(setup.event("held").await["gates"], json!(["a", "b"]));
    setup.tenant.open("a").unwrap();
    setup.tenant.open("a").unwrap();
    let mut byte = [0];
    assert_eq!(
        stream.try_read(&mut byte).unwrap_err().kind(),
        std::io::ErrorKind::WouldBlock
    );
    setup.tenant.open("b").unwrap();
    assert_eq!(receive(&mut stream).await.text(), "held");
    assert_eq!(
        names(&setup.seen()),
        ["opened", "opened", "released", "replied"]
    );
}

#[tokio::test]
async fn a_gate_that_is_open_holds_nothing_and_an_unknown_one_is_an_error() {
    let mut setup = Setup::new(&script()).await;
    setup.tenant.open("a").unwrap();
    setup.tenant.open("b").unwrap();
    assert_eq!(
        setup.chat(&main_request(&[user("[main] go")])).await.text(),
        "held"
    );
    assert_eq!(
        names(&setup.seen()),
        ["opened", "opened", "request", "replied"]
    );
    insta::assert_snapshot!(setup.tenant.open("c").unwrap_err(), @r#"no reply waits for gate `c`; the script has ["a", "b"]"#);
}

#[tokio::test]
async fn a_client_that_leaves_while_held_is_noticed_and_its_history_need_not_hold_the_turn() {
    let mut setup = Setup::new(&script()).await;
    let mut stream = setup.connect().await;
    send(
        &mut stream,
        &setup.path("/chat/completions"),
        &main_request(&[user("[main] go")]),
    )
    .await;
    setup.event("held").await;
    drop(stream);
    let left = setup.event("disconnected").await;
    assert_eq!(
        (&left["by"], &left["frames"]),
        (&json!("client"), &json!(0))
    );
    assert_eq!(
        setup
            .chat(&main_request(&[user("[main] go"), user("never mind")]))
            .await
            .text(),
        "after"
    );
    assert_eq!(laws(&setup.seen()), []);
}

#[tokio::test]
async fn a_turn_that_arrived_must_be_in_the_history() {
    let mut setup = Setup::new(&script()).await;
    setup.tenant.open("a").unwrap();
    setup.tenant.open("b").unwrap();
    setup.chat(&main_request(&[user("[main] go")])).await;
    setup
        .chat(&main_request(&[
            user("[main] go"),
            assistant("something else"),
            user("more"),
        ]))
        .await;
    let violation = setup.event("violation").await;
    insta::assert_snapshot!(violation["detail"].as_str().unwrap(), @r#"step 0 was sent with text "held" and calls []; the history has text "something else" and calls []"#);
}

#[tokio::test]
async fn finishing_a_tenant_ends_what_is_held() {
    let setup = Setup::new(&script()).await;
    let Setup {
        model,
        tenant,
        mut events,
    } = setup;
    let mut stream = tokio::net::TcpStream::connect(model.url().trim_start_matches("http://"))
        .await
        .unwrap();
    send(
        &mut stream,
        "/t/t/v1/chat/completions",
        &main_request(&[user("[main] go")]),
    )
    .await;
    within("held", async {
        while !matches!(
            events.recv().await.unwrap().what,
            fake_model::What::Held { .. }
        ) {}
    })
    .await;
    let report = tenant.finish().await;
    assert_eq!(report.unused.len(), 1);
    assert_eq!(receive(&mut stream).await.status, 0);
    let left = within("the end of the journal", async {
        let mut left = Vec::new();
        while let Some(event) = events.recv().await {
            left.push(event);
        }
        left
    })
    .await;
    assert_eq!(names(&left), ["disconnected"]);
    model.shutdown().await;
}

#[tokio::test]
async fn a_shutdown_does_not_wait_for_held_or_half_sent_requests() {
    let mut setup = Setup::new(&script()).await;
    let mut held = setup.connect().await;
    send(
        &mut held,
        &setup.path("/chat/completions"),
        &main_request(&[user("[main] go")]),
    )
    .await;
    let mut half = setup.connect().await;
    tokio::io::AsyncWriteExt::write_all(
        &mut half,
        b"POST /t/t/v1/chat/completions HTTP/1.1\r\ncontent-length: 10\r\n\r\n{",
    )
    .await
    .unwrap();
    let idle = setup.connect().await;
    setup.event("held").await;
    let since = std::time::Instant::now();
    setup.model.shutdown().await;
    assert!(
        since.elapsed() < std::time::Duration::from_millis(900),
        "{:?}",
        since.elapsed()
    );
    for mut stream in [held, half, idle] {
        let mut rest = Vec::new();
        let end = within("the end of the connection", stream.read_to_end(&mut rest)).await;
        assert!(
            rest.is_empty(),
            "{end:?} {:?}",
            String::from_utf8_lossy(&rest)
        );
    }
}
