//! Who gets which reply, what is refused, and what is noticed in the history.

use fake_model::{FakeModel, Law, What};
use serde_json::{Value, json};

use crate::client::{
    Setup, assistant, call, laws, main_request, main_script, names, receive, result, send, tool,
    user,
};

fn bash(arguments: &Value) -> Value {
    json!({"calls": [{"tool": {"name": "bash"}, "arguments": arguments}]})
}

#[tokio::test]
async fn parent_child_and_fork_are_told_apart_by_content() {
    let script = json!({
        "sessions": [{"name": "main", "opening": "[main]"}, {"name": "child", "opening": "[child]"}, {"name": "fork", "opening": "[fork]"}],
        "replies": [
            {"session": "main", "step": 0, "reply": {"say": "I am main"}},
            {"session": "child", "step": 0, "reply": {"say": "I am the child"}},
            {"session": "fork", "step": 0, "reply": {"say": "I am the fork"}},
        ]
    });
    let mut setup = Setup::new(&script).await;
    let child = json!({"role": "user", "content": [{"type": "text", "text": "[child] dig\n\nYour parent is 1234."}]});
    assert_eq!(
        setup
            .chat(&main_request(&[child, user("context")]))
            .await
            .text(),
        "I am the child"
    );
    assert_eq!(
        setup
            .chat(&main_request(&[user("[main] go"), user("context")]))
            .await
            .text(),
        "I am main"
    );
    let fork = [
        user("[main] go"),
        assistant("I am main"),
        user("[fork] and you"),
        user("context"),
    ];
    assert_eq!(
        setup.chat(&main_request(&fork)).await.text(),
        "I am the fork"
    );
    assert_eq!(laws(&setup.seen()), []);
    assert!(setup.tenant.finish().await.is_clean());
}

#[tokio::test]
async fn a_tool_loop_is_followed_and_breaks_no_law() {
    let mut setup = Setup::new(&main_script(&[
        bash(&json!({"command": "id"})),
        json!({"say": "done"}),
    ]))
    .await;
    let answer = setup.chat(&main_request(&[user("[main] go")])).await;
    assert_eq!(
        answer.frames()[1]["choices"][0]["delta"]["tool_calls"][0]["id"],
        "call_main_0_0"
    );
    let history = [
        user("[main] go"),
        call("call_main_0_0", "bash"),
        result("call_main_0_0", "root"),
    ];
    assert_eq!(setup.chat(&main_request(&history)).await.text(), "done");
    let events = setup.seen();
    assert_eq!(names(&events), ["request", "replied", "request", "replied"]);
    assert_eq!(laws(&events), []);
    insta::assert_json_snapshot!(events[1], {".t_us" => 0, ".wall_ms" => 0, ".bytes" => 0}, @r#"
    {
      "t_us": 0,
      "wall_ms": 0,
      "tenant": "t",
      "n": 0,
      "event": "replied",
      "session": "main",
      "step": 0,
      "status": 200,
      "frames": 11,
      "bytes": 0,
      "finish": "tool_calls",
      "fault": null
    }
    "#);
}

#[tokio::test]
async fn the_same_bytes_again_get_the_same_reply() {
    let setup = Setup::new(&main_script(&[bash(&json!({})), json!({"say": "done"})])).await;
    let first = setup.chat(&main_request(&[user("[main] go")])).await;
    let again = setup.chat(&main_request(&[user("[main] go")])).await;
    assert_eq!(first.chunks, again.chunks);
    let report = setup.tenant.report().await;
    assert_eq!(
        (report.requests, report.retries, report.unused.len()),
        (2, 1, 1)
    );
}

#[tokio::test]
async fn a_capture_takes_the_last_match_of_the_history() {
    let capture = json!({"to": {"$capture": {"pattern": "subagent ([0-9a-f-]+)"}}});
    let mut setup = Setup::new(&main_script(&[bash(&json!({})), bash(&capture)])).await;
    setup
        .chat(&main_request(&[user("[main] subagent aaa")]))
        .await;
    let history = |text: &str| {
        main_request(&[
            user("[main] go"),
            call("call_main_0_0", "bash"),
            result("call_main_0_0", text),
        ])
    };
    let refused = setup.chat(&history("nothing")).await;
    assert_eq!(
        (refused.status, refused.header("x-should-retry")),
        (400, Some("false"))
    );
    insta::assert_snapshot!(refused.error(), @"session `main` step 1: the pattern `subagent ([0-9a-f-]+)` matches no user message and no tool result of the request");
    setup.event("capture-miss").await;
    assert_eq!(
        setup
            .chat(&history("started subagent 12-ab"))
            .await
            .arguments(),
        ["{\"to\":\"12-ab\"}"]
    );
}

#[tokio::test]
async fn a_tool_that_is_not_offered_is_drift() {
    let reply =
        json!({"calls": [{"tool": {"of": "plumb", "name": "list_memoirs"}, "arguments": {}}]});
    let mut setup = Setup::new(&main_script(&[reply])).await;
    let refused = setup.chat(&main_request(&[user("[main] go")])).await;
    assert_eq!(refused.status, 400);
    insta::assert_snapshot!(refused.error(), @r#"session `main` step 0: the script wants the tool `list_memoirs of plumb` and the request does not offer exactly one; near: ["mcp__plumb__list_memories"]"#);
    assert_eq!(
        setup.event("tool-drift").await["near"],
        json!(["mcp__plumb__list_memories"])
    );
    assert_eq!(setup.tenant.finish().await.unused.len(), 1);
}

#[tokio::test]
async fn an_invented_tool_and_broken_arguments_are_sent_on_purpose() {
    let reply = json!({"calls": [{"id": "c9", "tool": {"raw": "no_such"}, "arguments_raw": "{\"command\":\"ec"}]});
    let setup = Setup::new(&main_script(&[reply])).await;
    let answer = setup.chat(&main_request(&[user("[main] go")])).await;
    assert_eq!(
        answer.frames()[1]["choices"][0]["delta"]["tool_calls"][0]["function"]["name"],
        "no_such"
    );
    assert_eq!(answer.arguments(), ["{\"command\":\"ec"]);
}

#[tokio::test]
async fn what_the_script_does_not_know_is_refused_with_the_reason() {
    let mut setup = Setup::new(&main_script(&[json!({"say": "hi"})])).await;
    let mut reasons = Vec::new();
    setup.chat(&main_request(&[user("[main] go")])).await;
    for (below, body) in [
        ("/chat/completions", main_request(&[user("[mein] go")])),
        (
            "/chat/completions",
            main_request(&[user("[main] go"), assistant("hi"), user("and?")]),
        ),
        ("/chat/completions", json!({"model": "m"})),
        ("/models", json!({})),
    ] {
        let answer = setup.post(below, &body).await;
        assert_eq!(
            (answer.status, answer.header("x-should-retry")),
            (400, Some("false"))
        );
        reasons.push(answer.error());
        assert_eq!(
            setup.event("unmatched").await["reason"],
            json!(reasons.last())
        );
    }
    insta::assert_snapshot!(reasons.join("\n"), @r#"
    no user message starts with the opening of a session; nearest is session `main` step 0: its opening is "[main]", messages[0] starts "[mein] go", and they part at byte 2
    session `main` is recognised, but its steps 0 to 0 are all used; nearest is step 0, say "hi"; this body of 611 bytes repeats no earlier one
    the body is no chat request: missing field `messages` at line 1 column 13
    method POST (POST is right), path `/t/t/v1/models` (the base URL and `/chat/completions` is right)
    "#);
    let report = setup.tenant.finish().await;
    assert_eq!((report.refused, report.is_clean()), (4, false));
}

#[tokio::test]
async fn a_title_that_is_not_scripted_is_refused() {
    let setup = Setup::new(&json!({"sessions": [], "replies": [], "title": null})).await;
    let answer = setup
        .chat(&json!({"model": "m", "messages": [user("x")], "stream": true}))
        .await;
    assert_eq!(answer.status, 400);
    insta::assert_snapshot!(answer.error(), @"a request without `tools` asks for a title, and the script's `title` is null");
}

#[tokio::test]
async fn strays_go_to_the_journal_of_the_server() {
    let mut model = FakeModel::start().await.unwrap();
    let mut strays = model.stray_events().unwrap();
    let tenant = model
        .tenant("gone", &json!({"sessions": [], "replies": []}))
        .unwrap();
    assert!(
        model
            .tenant("gone", &json!({"sessions": [], "replies": []}))
            .is_err()
    );
    tenant.finish().await;
    let mut stream = tokio::net::TcpStream::connect(model.url().trim_start_matches("http://"))
        .await
        .unwrap();
    for path in [
        "/v1/messages",
        "/t/gone/v1/chat/completions",
        "/t/gone/v2/chat/completions",
    ] {
        send(&mut stream, path, &json!({})).await;
        let answer = receive(&mut stream).await;
        assert_eq!(answer.status, 400);
        let What::Request(seen) = strays.recv().await.unwrap().what else {
            panic!("a request")
        };
        assert_eq!(seen.path, path);
        let What::Unmatched { reason } = strays.recv().await.unwrap().what else {
            panic!("unmatched")
        };
        assert_eq!(reason, answer.error());
    }
    model.shutdown().await;
}

#[tokio::test]
async fn each_law_that_a_request_breaks_is_an_event_and_the_request_is_answered() {
    let replies = [
        bash(&json!({})),
        json!({"say": "two"}),
        json!({"say": "three"}),
    ];
    let mut setup = Setup::new(&main_script(&replies)).await;
    setup.chat(&main_request(&[user("[main] go")])).await;
    let forged = [
        user("[main] go"),
        call("call_main_0_1", "bash"),
        result("call_main_0_1", "r"),
        result("x", "r"),
    ];
    let mut request = main_request(&forged);
    request["tools"] = json!([tool("bash")]);
    request["stream"] = json!(false);
    assert_eq!(setup.chat(&request).await.text(), "two");
    assert_eq!(
        laws(&setup.seen()),
        [
            Law::OrphanResult,
            Law::FalseHistory,
            Law::NotStreaming,
            Law::ToolsChanged
        ]
    );
    assert_eq!(setup.tenant.report().await.violations, 4);
}

#[tokio::test]
async fn the_journal_keeps_the_body_and_masks_the_key() {
    let mut setup = Setup::new(&main_script(&[json!({"say": "hi"})])).await;
    let request = main_request(&[user("[main] go")]);
    setup.chat(&request).await;
    let event = setup.event("request").await;
    assert_eq!(event["body"], json!(request.to_string()));
    assert_eq!(event["headers"][1], json!(["authorization", "…"]));
    assert_eq!(
        (
            &event["kind"],
            &event["session"],
            &event["step"],
            &event["n"],
            &event["tenant"]
        ),
        (
            &json!("main"),
            &json!("main"),
            &json!(0),
            &json!(0),
            &json!("t")
        )
    );
}
