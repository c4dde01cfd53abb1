//! The exact frames that strict clients accept.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::client::{Setup, main_request, main_script, receive, send, user};

#[tokio::test]
async fn a_text_turn_is_role_content_finish_usage_done() {
    let setup = Setup::new(&main_script(&[json!({"say": "Hi you", "reasoning": "hm"})])).await;
    let answer = setup.chat(&main_request(&[user("[main] go")])).await;
    assert_eq!(answer.status, 200);
    assert_eq!(
        answer.header("content-type"),
        Some("text/event-stream; charset=utf-8")
    );
    assert_eq!(answer.header("cache-control"), Some("no-cache"));
    assert_eq!(answer.header("x-request-id"), Some("req_0"));
    assert_eq!(answer.header("content-length"), None);
    assert!(answer.is_whole);
    insta::assert_snapshot!(redacted(&answer.chunks), @r#"
    data: {[HEAD],"choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}],"usage":null}
    data: {[HEAD],"choices":[{"index":0,"delta":{"reasoning_content":"h"},"logprobs":null,"finish_reason":null}],"usage":null}
    data: {[HEAD],"choices":[{"index":0,"delta":{"reasoning_content":"m"},"logprobs":null,"finish_reason":null}],"usage":null}
    data: {[HEAD],"choices":[{"index":0,"delta":{"content":"H"},"logprobs":null,"finish_reason":null}],"usage":null}
    data: {[HEAD],"choices":[{"index":0,"delta":{"content":"i "},"logprobs":null,"finish_reason":null}],"usage":null}
    data: {[HEAD],"choices":[{"index":0,"delta":{"content":"y"},"logprobs":null,"finish_reason":null}],"usage":null}
    data: {[HEAD],"choices":[{"index":0,"delta":{"content":"ou"},"logprobs":null,"finish_reason":null}],"usage":null}
    data: {[HEAD],"choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}],"usage":null}
    data: {[HEAD],"choices":[],"usage":{"prompt_tokens":136,"completion_tokens":3,"total_tokens":139,"prompt_tokens_details":{"cached_tokens":0},"completion_tokens_details":{"reasoning_tokens":1}}}
    data: [DONE]
    "#);
}

#[tokio::test]
async fn a_call_has_one_header_and_fragments_with_its_index() {
    let calls = json!({"calls": [
        {"tool": {"name": "bash"}, "arguments": {"command": "a\u{e9}\n"}},
        {"tool": {"of": "plumb", "name": "list_memories"}, "arguments": {}},
    ]});
    let setup = Setup::new(&main_script(&[calls])).await;
    let mut request = main_request(&[user("[main] go")]);
    request.as_object_mut().unwrap().remove("stream_options");
    let answer = setup.chat(&request).await;
    insta::assert_snapshot!(redacted(&answer.chunks), @r#"
    data: {[HEAD],"choices":[{"index":0,"delta":{"role":"assistant","content":null,"refusal":null},"logprobs":null,"finish_reason":null}]}
    data: {[HEAD],"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_main_0_0","type":"function","function":{"name":"bash","arguments":""}}]},"logprobs":null,"finish_reason":null}]}
    data: {[HEAD],"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{"}}]},"logprobs":null,"finish_reason":null}]}
    data: {[HEAD],"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"c"}}]},"logprobs":null,"finish_reason":null}]}
    data: {[HEAD],"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"o"}}]},"logprobs":null,"finish_reason":null}]}
    data: {[HEAD],"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"mmand\":"}}]},"logprobs":null,"finish_reason":null}]}
    data: {[HEAD],"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"aé"}}]},"logprobs":null,"finish_reason":null}]}
    data: {[HEAD],"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\\n\"}"}}]},"logprobs":null,"finish_reason":null}]}
    data: {[HEAD],"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_main_0_1","type":"function","function":{"name":"mcp__plumb__list_memories","arguments":""}}]},"logprobs":null,"finish_reason":null}]}
    data: {[HEAD],"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"{"}}]},"logprobs":null,"finish_reason":null}]}
    data: {[HEAD],"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"}"}}]},"logprobs":null,"finish_reason":null}]}
    data: {[HEAD],"choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"tool_calls"}]}
    data: [DONE]
    "#);
    assert_eq!(answer.arguments(), ["{\"command\":\"a\u{e9}\\n\"}", "{}"]);
}

#[tokio::test]
async fn each_frame_is_a_chunk_of_its_own_and_the_connection_is_kept() {
    let setup = Setup::new(&main_script(&[
        json!({"say": "one two three"}),
        json!({"say": "more"}),
    ]))
    .await;
    let mut stream = setup.connect().await;
    send(
        &mut stream,
        &setup.path("/chat/completions"),
        &main_request(&[user("[main] go")]),
    )
    .await;
    let first = receive(&mut stream).await;
    // A chunk of the transfer coding is one body frame, and each holds exactly one event.
    assert!(
        first
            .chunks
            .iter()
            .all(|chunk| chunk.matches("data: ").count() == 1),
        "{first:?}"
    );
    assert_eq!(first.text(), "one two three");
    send(
        &mut stream,
        &setup.path("/chat/completions"),
        &main_request(&[user("[main] go")]),
    )
    .await;
    assert_eq!(receive(&mut stream).await.text(), "one two three");
}

#[tokio::test]
async fn a_title_is_streamed_like_any_turn_and_takes_no_reply() {
    let mut setup = Setup::new(&main_script(&[json!({"say": "hello"})])).await;
    let mut request = main_request(&[user("[main] go")]);
    request.as_object_mut().unwrap().remove("tools");
    assert_eq!(setup.chat(&request).await.text(), "A title");
    assert_eq!(setup.chat(&request).await.text(), "A title");
    assert_eq!(setup.event("request").await["kind"], "title");
    assert_eq!(
        setup.chat(&main_request(&[user("[main] go")])).await.text(),
        "hello"
    );
    let report = setup.tenant.finish().await;
    assert_eq!(
        (report.titles, report.requests, report.is_clean()),
        (2, 3, true)
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn whatever_the_arguments_a_client_puts_them_together_again(arguments in any_json()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let received = runtime.block_on(async {
            let call = json!({"tool": {"name": "bash"}, "arguments": arguments});
            let setup = Setup::new(&main_script(&[json!({"calls": [call]})])).await;
            setup.chat(&main_request(&[user("[main]")])).await.arguments()
        });
        prop_assert_eq!(received.len(), 1);
        prop_assert_eq!(serde_json::from_str::<Value>(&received[0]).unwrap(), arguments);
    }
}

/// Any JSON, except that no object has the key of a capture.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,40}".prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::hash_map("[a-z\u{e9}\"\\\\ ]{0,8}", inner, 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// The chunks with what is the same in each frame named once.
fn redacted(chunks: &[String]) -> String {
    let text = chunks.concat();
    let created = text
        .split("\"created\":")
        .nth(1)
        .and_then(|rest| rest.split(',').next())
        .unwrap();
    text.replace(&format!("\"created\":{created}"), "\"created\":[SECONDS]")
        .replace(r#"{"id":"chatcmpl-main-0","object":"chat.completion.chunk","created":[SECONDS],"model":"fake-model","#, "{[HEAD],")
        .replace("\n\n", "\n")
}
