//! RUN-13: the only provider is the fake. A tripwire stands where a real provider would be reached, and hears nothing.

use wiremock::matchers::any;
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::room::{Room, said};

#[tokio::test(flavor = "multi_thread")]
async fn whatever_the_caller_has_set_no_request_goes_elsewhere() {
    let tripwire = MockServer::start().await;
    Mock::given(any())
        .respond_with(ResponseTemplate::new(500))
        .mount(&tripwire)
        .await;
    let (uri, room) = (tripwire.uri(), Room::new());
    let mut command = room.run(["--only", "text", "--controls", "none"]);
    for name in [
        "DEEPSEEK_BASE_URL",
        "OPENAI_BASE_URL",
        "ANTHROPIC_BASE_URL",
        "DSH_TELEMETRY_OTLP_URL",
    ] {
        command.env(name, &uri);
    }
    for name in [
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "http_proxy",
        "https_proxy",
        "all_proxy",
    ] {
        command.env(name, &uri);
    }
    for name in ["DEEPSEEK_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"] {
        command.env(name, "callers-key");
    }
    command.env("NODE_OPTIONS", "--require=/nowhere/callers-hook.cjs");
    let run = said(&mut command);
    assert_eq!(run.code, Some(0), "{run}");
    let heard = tripwire.received_requests().await.unwrap_or_default();
    assert!(heard.is_empty(), "{heard:?}");
    let facts = std::fs::read_to_string(room.evidence("agent/text").join("facts.json")).unwrap();
    assert!(
        !facts.contains("callers-"),
        "something of the caller's environment reached dsh"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_misrouted_request_ends_in_the_missing_provider_error_and_reaches_nobody() {
    let tripwire = MockServer::start().await;
    Mock::given(any())
        .respond_with(ResponseTemplate::new(500))
        .mount(&tripwire)
        .await;
    let room = Room::new();
    let scenarios = room.path("tmp/scenarios/probe");
    std::fs::create_dir_all(&scenarios).unwrap();
    let scenario = format!(
        r#"format = 1
title = "The model row names a provider that is not there"
why = "A request that goes astray must end in an error of the agent, and reach nobody."
[launch.main]
exit = 1
env = {{ HTTPS_PROXY = "{0}", HTTP_PROXY = "{0}" }}
[launch.main.rows.agent-default-model]
provider = "deepseek-official"
model = "deepseek-chat"
[[expect]]
check = "said"
clause = ["RUN-13"]
warnings = {{ text = "MISSING_CREDENTIAL", times = 1 }}
"#,
        tripwire.uri()
    );
    std::fs::write(scenarios.join("astray.toml"), scenario).unwrap();
    let folder = room.path("tmp/scenarios");
    let mut command = room.run(["--only", "astray", "--scenarios"]);
    command.arg(folder);
    let run = said(&mut command);
    assert_eq!(run.code, Some(0), "{run}");
    let heard = tripwire.received_requests().await.unwrap_or_default();
    assert!(heard.is_empty(), "{heard:?}");
}
