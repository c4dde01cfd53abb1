//! Every scripted fault, as the client sees it on the socket.

use fake_model::What;
use serde_json::{Value, json};

use crate::client::{
    Answer, Setup, assistant, laws, main_request, main_script, names, receive, send, user,
};

/// Asks once and returns the answer and the name of the fault in the journal.
async fn answer(reply: &Value) -> (Answer, Value) {
    let mut setup = Setup::new(&main_script(std::slice::from_ref(reply))).await;
    let answer = setup.chat(&main_request(&[user("[main] go")])).await;
    let replied = setup.event("replied").await;
    (answer, replied)
}

#[tokio::test]
async fn a_status_has_its_body_and_headers() {
    let fail = json!({"fail": {"status": {"code": 429, "headers": {"retry-after": "7"}, "body": {"error": {"message": "slow"}}}}});
    let (answer, replied) = answer(&fail).await;
    assert_eq!(
        (answer.status, answer.header("retry-after")),
        (429, Some("7"))
    );
    assert_eq!(answer.error(), "slow");
    assert_eq!(
        (&replied["status"], &replied["fault"]),
        (&json!(429), &json!("status"))
    );
}

#[tokio::test]
async fn a_dropped_connection_shows_no_byte() {
    let (answer, replied) = answer(&json!({"fail": "drop"})).await;
    assert_eq!((answer.status, answer.head.as_str()), (0, ""));
    assert_eq!(
        (&replied["status"], &replied["fault"]),
        (&Value::Null, &json!("drop"))
    );
}

#[tokio::test]
async fn a_stream_is_dropped_after_so_many_frames() {
    for (after, frames) in [(0, 0), (2, 2), (99, 5)] {
        let (answer, replied) =
            answer(&json!({"say": "Hi you", "fault": {"drop-after": after}})).await;
        assert_eq!(
            (answer.status, answer.chunks.len(), answer.is_whole),
            (200, frames, false)
        );
        assert_eq!(
            (&replied["finish"], &replied["frames"]),
            (&Value::Null, &json!(frames))
        );
    }
}

#[tokio::test]
async fn a_stream_is_cut_before_its_finish() {
    let (answer, _) = answer(&json!({"say": "Hi you", "fault": "cut"})).await;
    assert!(answer.is_whole);
    assert_eq!(answer.text(), "Hi you");
    assert!(
        answer
            .frames()
            .iter()
            .all(|frame| frame["choices"][0]["finish_reason"].is_null())
    );
}

#[tokio::test]
async fn a_frame_is_malformed_and_the_rest_follows() {
    let (answer, _) = answer(&json!({"say": "Hi you", "fault": {"malformed-after": 1}})).await;
    assert!(answer.frames()[1].is_string());
    assert_eq!(answer.frames().last(), Some(&json!("[DONE]")));
}

#[tokio::test]
async fn an_error_stands_in_the_stream() {
    let fault =
        json!({"error-after": {"frames": 1, "error": {"message": "overloaded", "code": "x"}}});
    let (answer, _) = answer(&json!({"say": "Hi", "fault": fault})).await;
    assert_eq!(answer.frames().len(), 2);
    assert_eq!(
        answer.frames()[1],
        json!({"error": {"message": "overloaded", "code": "x"}})
    );
    assert!(answer.is_whole);
}

#[tokio::test]
async fn the_content_type_is_wrong() {
    let (answer, _) = answer(&json!({"say": "Hi", "fault": {"content-type": "text/html"}})).await;
    assert_eq!(
        (answer.header("content-type"), answer.text().as_str()),
        (Some("text/html"), "Hi")
    );
}

#[tokio::test]
async fn the_finish_reason_is_another() {
    let (answer, replied) = answer(&json!({"say": "Hi", "fault": {"finish": "length"}})).await;
    let reasons: Vec<Value> = answer
        .frames()
        .iter()
        .map(|frame| frame["choices"][0]["finish_reason"].clone())
        .filter(|r| !r.is_null())
        .collect();
    assert_eq!(
        (reasons, &replied["finish"]),
        (vec![json!("length")], &json!("length"))
    );
}

#[tokio::test]
async fn done_usage_and_index_are_left_out() {
    let (no_done, _) = answer(&json!({"say": "Hi", "fault": "no-done"})).await;
    assert!(!no_done.frames().contains(&json!("[DONE]")));
    let (no_usage, _) = answer(&json!({"say": "Hi", "fault": "no-usage"})).await;
    assert!(
        no_usage
            .frames()
            .iter()
            .all(|frame| frame["usage"].is_null())
    );
    let call = json!({"tool": {"name": "bash"}, "arguments": {"a": 1}});
    let (no_index, _) = answer(&json!({"calls": [call], "fault": "no-index"})).await;
    assert!(
        no_index
            .frames()
            .iter()
            .all(|frame| frame["choices"][0]["delta"]["tool_calls"][0]["index"].is_null())
    );
    let (right, _) = answer(&json!({"calls": [call]})).await;
    assert_eq!(
        right.frames()[1]["choices"][0]["delta"]["tool_calls"][0]["index"],
        0
    );
    assert!(right.frames().iter().any(|frame| !frame["usage"].is_null()));
}

#[tokio::test]
async fn a_hang_lasts_until_the_client_leaves() {
    for reply in [
        json!({"fail": "hang"}),
        json!({"say": "Hi", "fault": {"hang-after": 0}}),
        json!({"say": "Hi", "fault": {"hang-after": 2}}),
    ] {
        let mut setup = Setup::new(&main_script(&[reply])).await;
        let mut stream = setup.connect().await;
        send(
            &mut stream,
            &setup.path("/chat/completions"),
            &main_request(&[user("[main] go")]),
        )
        .await;
        setup.event("replied").await;
        drop(stream);
        assert_eq!(setup.event("disconnected").await["by"], "client");
    }
}

#[tokio::test]
async fn a_hang_lasts_until_the_tenant_is_finished() {
    let mut setup = Setup::new(&main_script(&[
        json!({"say": "Hi", "fault": {"hang-after": 1}}),
    ]))
    .await;
    let mut stream = setup.connect().await;
    send(
        &mut stream,
        &setup.path("/chat/completions"),
        &main_request(&[user("[main] go")]),
    )
    .await;
    setup.event("replied").await;
    setup.tenant.finish().await;
    let answer = receive(&mut stream).await;
    assert_eq!(
        (answer.status, answer.chunks.len(), answer.is_whole),
        (200, 1, false)
    );
}

#[tokio::test]
async fn a_failure_with_times_lets_a_later_attempt_through() {
    let fail = json!({"fail": {"status": {"code": 503}}, "times": 2});
    let mut setup = Setup::new(&main_script(&[fail, json!({"say": "at last"})])).await;
    let request = main_request(&[user("[main] go")]);
    let mut statuses = Vec::new();
    for _ in 0..3 {
        statuses.push(setup.chat(&request).await.status);
    }
    assert_eq!(statuses, [503, 503, 200]);
    assert_eq!(setup.chat(&request).await.text(), "at last");
    assert_eq!(names(&setup.seen()).len(), 8);
    let report = setup.tenant.finish().await;
    assert_eq!((report.retries, report.is_clean()), (3, true));
}

#[tokio::test]
async fn a_broken_turn_may_be_missing_from_the_history() {
    let mut setup = Setup::new(&main_script(&[
        json!({"say": "Hi you", "fault": "cut"}),
        json!({"say": "b"}),
        json!({"say": "c"}),
    ]))
    .await;
    setup.chat(&main_request(&[user("[main] go")])).await;
    setup
        .chat(&main_request(&[user("[main] go"), user("again")]))
        .await;
    setup
        .chat(&main_request(&[
            user("[main] go"),
            user("again"),
            assistant("b"),
            user("more"),
        ]))
        .await;
    let events = setup.seen();
    assert_eq!(laws(&events), []);
    assert!(
        events
            .iter()
            .all(|event| !matches!(event.what, What::Unmatched { .. }))
    );
}
